/** A place in a simulated port right before or right after something happens there. */
export interface Point {
  readonly when: "before" | "after";
  readonly call: string;
  readonly id?: string;
  /** Which of several token stores, counted from 0. */
  readonly store?: number;
}

/**
 * Every simulated port passes its points through here. It may resolve, take its time, reject with what the
 * port rejects with, or never resolve: then the process is dead, and what it held in memory is gone.
 */
export type Step = (point: Point) => Promise<void>;

export interface Fate {
  /** The number of points that are passed before the process dies. */
  readonly diesAt?: number | undefined;
  /** What happens at a point: it throws what a port rejects with, or resolves late. `nth` counts from 1. */
  readonly at?: ((point: Point, nth: number) => void | Promise<void>) | undefined;
}

/** One start of the program, from its birth to its end or its sudden death. */
export class Instance {
  /** The points that were passed, in order: the history of its effects. */
  readonly passed: Point[] = [];
  readonly died: Promise<"died">;
  readonly #fate: Fate;
  #die: () => void = () => {};
  #dead = false;

  constructor(fate: Fate = {}) {
    this.#fate = fate;
    this.died = new Promise((resolve) => {
      this.#die = () => resolve("died");
    });
  }

  readonly step: Step = async (point) => {
    if (this.passed.length === this.#fate.diesAt) this.kill();
    if (this.#dead) return new Promise(() => {});
    this.passed.push(point);
    try {
      await this.#fate.at?.(point, this.passed.length);
    } finally {
      // It may have died meanwhile.
      if (this.#dead) await new Promise(() => {});
    }
  };

  kill(): void {
    this.#dead = true;
    this.#die();
  }

  /** `after getOrCreate a`, in order. */
  history(...calls: string[]): string[] {
    return this.passed
      .filter((point) => calls.includes(`${point.when} ${point.call}`))
      .map(({ when, call, id }) => [when, call, ...(id === undefined ? [] : [id])].join(" "));
  }
}
