import { ServiceFailure, type ServiceFailureCode } from "./service-failure.ts";

/** A refusal that may concern everybody, or the group of the call alone. */
type UndecidedCode = Extract<ServiceFailureCode, "KEY_REFUSED" | "INTERMEDIARY_REFUSED">;
export type Undecided = ServiceFailure & { readonly code: UndecidedCode };

export const isUndecided = (failure: unknown): failure is Undecided =>
  failure instanceof ServiceFailure && failure.reaction === "ask";

/** How the service has answered a request that concerns no group; null: as if there was nothing to refuse. */
export type NeutralAnswer = ServiceFailure | null;

/**
 * Whether a refusal concerns everybody, by the answer to a neutral request.
 *
 * | refusal                | neutral request               | its answer                             | concerns       |
 * |------------------------|-------------------------------|----------------------------------------|----------------|
 * | `KEY_REFUSED`          | a POST with a random token    | the same, see `isSameRefusal`          | everybody      |
 * |                        |                               | `KEY_REFUSED` with another status or   | the group      |
 * |                        |                               | in other words: perhaps the service    |                |
 * |                        |                               | refuses the token that way             |                |
 * | `INTERMEDIARY_REFUSED` | a GET with a body, and a      | `INTERMEDIARY_REFUSED`                 | everybody      |
 * |                        | wrong key                     |                                        |                |
 * | either                 |                               | any other, or none                     | the group      |
 */
export function concernsEverybody(refusal: Undecided, answer: NeutralAnswer): boolean {
  if (refusal.code === "KEY_REFUSED") return isSameRefusal(refusal, answer);
  return answer?.code === refusal.code;
}

/**
 * Whether two refusals of a key are the same: the HTTP status, and the words. What differs from answer to answer doesn't
 * count, such as the id of a request or the time.
 */
export const isSameRefusal = (refusal: ServiceFailure, answer: NeutralAnswer): boolean =>
  answer?.code === "KEY_REFUSED" && refusal.code === answer.code && gist(refusal) === gist(answer);

function gist({ message }: ServiceFailure): string {
  const [, status = "", words = ""] = /^(?:[A-Z]+ was answered )?(HTTP \d+)?(.*)$/s.exec(message) ?? [];
  return status + words.replace(VARYING, "#");
}

/** A word with a digit, a hexadecimal number without one, and a word that is as long as a token. */
const VARYING = /[\p{L}_+/=.:-]*\p{N}[\p{L}\p{N}_+/=.:-]*|\b[a-f]{8,}\b|[\p{L}\p{N}_+/=-]{24,}/giu;

/** The failure of a group that alone is refused. Its cause is the refusal. */
export const refusedAlone = (refusal: Undecided): ServiceFailure =>
  new ServiceFailure("REFUSED", `${refusal.message}; ${ALONE[refusal.code]}`, { cause: refusal });

const ALONE: Readonly<Record<UndecidedCode, string>> = {
  KEY_REFUSED: "the API key is good, so the service, or a firewall before it, refuses this group alone",
  INTERMEDIARY_REFUSED: "other requests pass, so something before the service refuses this group alone",
};
