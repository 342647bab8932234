import type { Group } from "../../src/core/group/group.ts";

/** A moment in a simulated port, right before or right after a call takes effect. */
export interface Point {
  readonly when: "before" | "after";
  readonly call: string;
  readonly id?: string;
  /** What a GET sends. */
  readonly group?: Group;
  /** Which of several token stores, counted from 0. */
  readonly store?: number;
}

/**
 * Every simulated port calls this at each of its points. It may resolve at once or later, reject as the port would, or
 * never resolve: then the process is dead, and its memory is gone.
 */
export type Step = (point: Point) => Promise<void>;

export interface Fate {
  /** The number of points that are passed before the process dies. */
  readonly diesAt?: number | undefined;
  /** Called at each point; may throw what the port rejects with, or resolve late. `nth` counts from 1. */
  readonly at?: ((point: Point, nth: number) => void | Promise<void>) | undefined;
}

/** What passes each of these. */
export const each =
  (...at: readonly ((point: Point) => void)[]) =>
  (point: Point): void => {
    for (const one of at) one(point);
  };

/** Rejects with `error()` from the nth time this point is reached, at most `times` times; for these ids alone, if given. */
export function failing(
  when: Point["when"],
  call: string,
  error: () => Error,
  { from = 1, times = Infinity, ids }: { from?: number; times?: number; ids?: readonly string[] } = {},
) {
  let reached = 0;
  return (point: Point): void => {
    if (point.when !== when || point.call !== call) return;
    if (ids && !ids.includes(point.id ?? "")) return;
    reached++;
    if (reached >= from && reached < from + times) throw error();
  };
}

/** One process of the program, from its start to its end or its death. */
export class Instance {
  /** The points that the process passed, in order. */
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
      // The process may have died meanwhile.
      if (this.#dead) await new Promise(() => {});
    }
  };

  kill(): void {
    this.#dead = true;
    this.#die();
  }

  /** The points of these calls, such as `after getOrCreate a`, in order. */
  history(...calls: string[]): string[] {
    return this.passed
      .filter((point) => calls.includes(`${point.when} ${point.call}`))
      .map(({ when, call, id }) => [when, call, ...(id === undefined ? [] : [id])].join(" "));
  }
}
