import { isTokenRefused, type Unanswered } from "../service/service-calls.ts";

type FailedCall = Extract<Unanswered, { kind: "failed" }>;

/** A call that nobody can tell the effect of is repeated this often: a random fault hardly comes so many times in a row. */
export const MOST_TRIES = 4;

/**
 * Whether the service has said no. `isUnchanged`: a GET has shown that the call had no effect, so a server error and an
 * answer that can't be used are a no, too. A token that two groups share is none: then nothing was sent.
 */
export function isNo({ failure, mayHaveHappened }: FailedCall, isUnchanged: boolean): boolean {
  if (failure.code === "TOKEN_SHARED" || (mayHaveHappened && !isUnchanged)) return false;
  return isTokenRefused(failure) || failure.code === "SERVICE_ERROR";
}
