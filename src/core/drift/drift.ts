/**
 * How a group at the service differs from what the ledger knows, because somebody else changed it there.
 * - `token`: it has another token.
 * - `gone`: it did not exist any more. The GET that showed this has made it again.
 * - `name`: it has another name.
 */
export type Drift = "token" | "gone" | "name";

/** What each kind of drift means, for an operator. */
export const DRIFT_TEXT: Readonly<Record<Drift, string>> = {
  token: "somebody else has given the group another token; that token is stored now",
  gone: "somebody else had deleted the group; it is made again, and its new token is stored",
  name: "somebody else has renamed the group, and this GET didn't change that",
};
