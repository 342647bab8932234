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
 * | `KEY_REFUSED`          | a POST with a random token    | `KEY_REFUSED` in the same words        | everybody      |
 * |                        |                               | `KEY_REFUSED` in other words: perhaps  | the group      |
 * |                        |                               | the service refuses the token that way |                |
 * | `INTERMEDIARY_REFUSED` | a GET with a body, and a      | `INTERMEDIARY_REFUSED`                 | everybody      |
 * |                        | wrong key                     |                                        |                |
 * | either                 |                               | any other, or none                     | the group      |
 */
export function concernsEverybody(refusal: Undecided, answer: NeutralAnswer): boolean {
  if (answer?.code !== refusal.code) return false;
  return refusal.code === "INTERMEDIARY_REFUSED" || words(answer) === words(refusal);
}

/** The answer without the method that was sent. */
const words = ({ message }: ServiceFailure): string => message.replace(/^[A-Z]+ (?=was answered )/, "");

/**
 * Whether the failure of a POST with a random token may come from the token alone: then the answer to a wrong key tells.
 */
export const mayBeOfToken = ({ code }: ServiceFailure): boolean =>
  code === "KEY_REFUSED" || code === "SERVICE_ERROR" || code === "BAD_RESPONSE";

/** Whether such a failure comes from the token alone: the service refuses a wrong key, and in other words. */
export const isOfToken = (failure: ServiceFailure, toWrongKey: NeutralAnswer): boolean =>
  (toWrongKey?.code === "KEY_REFUSED" || toWrongKey?.code === "REFUSED") &&
  words(toWrongKey) !== words(failure);

/** The failure of a group that alone is refused. Its cause is the refusal. */
export const refusedAlone = (refusal: Undecided): ServiceFailure =>
  new ServiceFailure("REFUSED", `${refusal.message}; ${ALONE[refusal.code]}`, { cause: refusal });

const ALONE: Readonly<Record<UndecidedCode, string>> = {
  KEY_REFUSED: "the API key is good, so the service, or a firewall before it, refuses this group alone",
  INTERMEDIARY_REFUSED: "other requests pass, so something before the service refuses this group alone",
};
