import {
  concernsEverybody,
  isSameRefusal,
  isUndecided,
  type NeutralAnswer,
  ServiceFailure,
  type Undecided,
} from "../../core/failure/service-failure.ts";
import type { GroupService } from "../../ports/group-service.ts";
import { Breaker, type Breakers } from "./breaker.ts";
import { type CallContext, callWithRetries } from "./call-with-retries.ts";
import { PRIORITY } from "./throttle.ts";

interface NeutralCalling extends Omit<CallContext, "breaker" | "priority"> {
  readonly service: Pick<GroupService, "getWithWrongKey" | "rotateNobody">;
  readonly breakers: Breakers;
}

interface Asked {
  readonly answer: NeutralAnswer;
  readonly sentAt: number;
}

/**
 * Finds out whether a refusal concerns everybody, by a request that names no group and changes nothing. All calls of a run share
 * one: if sixteen calls are refused at once, one request is enough.
 */
export class NeutralRequests {
  readonly #run: NeutralCalling;
  readonly #asked = new Map<Undecided["code"], Asked>();
  #last: Promise<unknown> = Promise.resolve();
  /** Counts refusals and requests, to tell which came first. */
  #moment = 0;

  constructor(run: NeutralCalling) {
    this.#run = run;
  }

  /** Resolves to undefined if the run is ending. Rejects with LEASE_LOST. */
  concernsEverybody(refusal: Undecided): Promise<boolean | undefined> {
    const refusedAt = ++this.#moment;
    const decided = this.#last.then(() => this.#decide(refusal, refusedAt));
    this.#last = decided.catch(() => {});
    return decided;
  }

  /**
   * Sends a POST with a random token. A failure is repeated after these pauses, in milliseconds. Resolves to undefined if
   * the run is ending. Rejects with what ends the run if the last one fails.
   *
   * | the POST               | a GET with a wrong key    | resolves to                                   |
   * |------------------------|---------------------------|-----------------------------------------------|
   * | `REFUSED`, or success  | is not sent               | lives: the service takes the key              |
   * | `KEY_REFUSED`          | is refused otherwise      | unclear: the key is refused, or the token     |
   * | `KEY_REFUSED`          | is refused in the same    | rejects                                       |
   * |                        | way, or fails             |                                               |
   * | any other              | is not sent               | rejects                                       |
   */
  async signOfLife(
    repeatedAfter: readonly number[],
    signal: AbortSignal,
  ): Promise<"lives" | "unclear" | undefined> {
    const breaker = new Breaker(true, 1);
    const called = await callWithRetries("", (beforeSend) => this.#rotateNobody(beforeSend), {
      ...this.#run,
      priority: PRIORITY.fullSync,
      breaker,
      repeatedAfter,
      signal,
    });
    if (called.kind === "failed")
      throw isUndecided(called.failure) ? called.failure : (breaker.failed(called.failure) ?? called.failure);
    return called.kind === "answered" ? called.answer : undefined;
  }

  async #rotateNobody(beforeSend: () => void): Promise<"lives" | "unclear"> {
    const { service, tally } = this.#run;
    const answer = await neutralAnswer(service.rotateNobody(beforeSend));
    if (answer === null || answer.code === "REFUSED") return "lives";
    if (answer.code !== "KEY_REFUSED") throw answer;
    tally.requests++;
    const toWrongKey = await neutralAnswer(service.getWithWrongKey(beforeSend));
    if (!isClearRefusal(toWrongKey) || isSameRefusal(answer, toWrongKey)) throw answer;
    return "unclear";
  }

  async #decide(refusal: Undecided, refusedAt: number): Promise<boolean | undefined> {
    const asked = this.#asked.get(refusal.code);
    if (asked && concernsEverybody(refusal, asked.answer)) return true;
    // The key may have been revoked after a request that was sent before this refusal came.
    if (asked && asked.sentAt > refusedAt) return false;
    const sentAt = ++this.#moment;
    const answer = await this.#ask(refusal.code);
    if (answer === undefined) return undefined;
    this.#asked.set(refusal.code, { answer, sentAt });
    return concernsEverybody(refusal, answer);
  }

  async #ask(code: Undecided["code"]): Promise<NeutralAnswer | undefined> {
    const { service, breakers } = this.#run;
    const context = { ...this.#run, priority: PRIORITY.newTenant };
    const called =
      code === "KEY_REFUSED"
        ? await callWithRetries("", (beforeSend) => service.rotateNobody(beforeSend), {
            ...context,
            breaker: breakers.POST,
            isUnrepeatable: true,
          })
        : await callWithRetries("", (beforeSend) => service.getWithWrongKey(beforeSend), {
            ...context,
            breaker: breakers.GET,
          });
    if (called.kind === "interrupted") return undefined;
    return called.kind === "failed" ? called.failure : null;
  }
}

/** Whether the service itself has said no, to the key or to the rest of the request. */
export const isClearRefusal = (answer: NeutralAnswer): answer is ServiceFailure =>
  answer?.code === "KEY_REFUSED" || answer?.code === "REFUSED";

export const neutralAnswer = (request: Promise<void>): Promise<NeutralAnswer> =>
  request.then(
    () => null,
    (error: unknown) => {
      if (error instanceof ServiceFailure) return error;
      throw error;
    },
  );
