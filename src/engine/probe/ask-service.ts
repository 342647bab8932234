import type { ServiceFailure } from "../../core/failure/service-failure.ts";
import {
  CANARY_NAME,
  canaryGroup,
  type Observations,
  OTHER_CANARY_NAME,
  type SeenGet,
  type SeenPost,
} from "../../core/probe/findings.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { ServiceCalls, Unanswered } from "../service/service-calls.ts";
import { isNo, MOST_TRIES } from "./refusal.ts";

/** What the service has answered, without the DELETEs. */
export interface Asked {
  readonly seen: Omit<Observations, "deletes">;
  /** The canary's live token, if it is known. */
  readonly live: Secret | undefined;
  /** Why a question has no answer; undefined if each has one, or if the run is ending. */
  readonly failure: ServiceFailure | undefined;
}

/**
 * Makes the canary, and asks with it what the interface leaves open. The first call that fails ends the questions, but a
 * clear refusal of a POST is an answer. Rejects if the run has to end.
 */
export async function askService(id: string, calls: ServiceCalls): Promise<Asked> {
  const questions = new Questions(id, calls);
  const failed = await questions.ask();
  const { seen, live } = questions;
  return { seen, live, failure: failed?.kind === "failed" ? failed.failure : undefined };
}

class Questions {
  readonly #id: string;
  readonly #calls: ServiceCalls;
  seen: Asked["seen"] = {};
  live: Secret | undefined;

  constructor(id: string, calls: ServiceCalls) {
    this.#id = id;
    this.#calls = calls;
  }

  /** Resolves to the call that got no answer; undefined if all were answered. */
  async ask(): Promise<Unanswered | undefined> {
    for (const [question, name] of [
      ["created", CANARY_NAME],
      ["repeated", CANARY_NAME],
      ["renamed", OTHER_CANARY_NAME],
    ] as const) {
      const failed = await this.#get(question, name);
      if (failed) return failed;
    }
    return (await this.#rotate()) ?? (await this.#get("afterwards", OTHER_CANARY_NAME));
  }

  async #get(
    question: "created" | "repeated" | "renamed" | "afterwards",
    sentName: string,
  ): Promise<Unanswered | undefined> {
    const called = await this.#calls.getOrCreate(canaryGroup(this.#id, sentName));
    if (called.kind !== "answered") return called;
    const { isNew, group } = called.answer;
    const { name, token } = group;
    const seen: SeenGet = { sentName, name, isNew, token, mayHaveBeenSent: called.mayHaveBeenSent };
    this.seen = { ...this.seen, [question]: seen };
    this.live = token;
    return undefined;
  }

  async #rotate(): Promise<Unanswered | undefined> {
    const { live: former } = this;
    if (former === undefined) return undefined;
    const failed = await this.#post("rotated", former);
    if (failed || this.live === undefined || this.live.equals(former)) return failed;
    return this.#post("reused", former);
  }

  /** A POST whose answer is lost may have given a new token: a GET tells. If it didn't, the same POST is sent again. */
  async #post(question: "rotated" | "reused", token: Secret): Promise<Unanswered | undefined> {
    for (let attempt = 1; ; attempt++) {
      const called = await this.#calls.rotate(this.#id, token);
      if (called.kind === "interrupted") return called;
      if (called.kind === "answered") {
        const { token: live, name } = called.answer;
        return this.#note(question, { kind: "answered", token: live, name }, live);
      }
      const { failure, mayHaveHappened } = called;
      const before = this.live;
      if (mayHaveHappened) {
        const found = await this.#calls.getOrCreate(canaryGroup(this.#id, OTHER_CANARY_NAME));
        if (found.kind !== "answered") return found;
        const { token: live } = found.answer.group;
        if (!before?.equals(live)) return this.#note(question, { kind: "carried out", token: live }, live);
        if (attempt < MOST_TRIES) continue;
      }
      return isNo(called, mayHaveHappened)
        ? this.#note(question, { kind: "refused", text: failure.message })
        : called;
    }
  }

  #note(question: "rotated" | "reused", seen: SeenPost, live = this.live): undefined {
    this.seen = { ...this.seen, [question]: seen };
    this.live = live;
  }
}
