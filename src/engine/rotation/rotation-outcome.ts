import type { Failure } from "../../core/failure/sync-error.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { Unanswered } from "../service/service-calls.ts";
import { sharedBy, sharedFailure } from "../tokens/shared-tokens.ts";

export interface Failed {
  readonly kind: "failed";
  readonly failure: Failure;
  /** The live token, if it is known and has to be stored. */
  readonly live?: Secret;
  /** See `RotationResult`. */
  readonly sharedToken?: string;
  /** A POST may have changed the token, or the live token isn't stored: the intent stays. */
  readonly isOpen: boolean;
}

/** The result of the calls of one rotation. */
export type RotationOutcome =
  | { readonly kind: "done"; readonly token: Secret }
  | Failed
  /** No store has shown that it takes a token of this group, so no POST was sent. */
  | { readonly kind: "not proved"; readonly failure: Failure; readonly isOpen: boolean }
  /** Left to the next run, because this run is ending. */
  | { readonly kind: "left" };

/** The service returned a token that belongs to another group. The next run asks again. */
export function failedBySharedToken(token: Secret): Failed {
  const failure = sharedFailure();
  return { kind: "failed", failure, ...sharedBy(failure, token), isOpen: true };
}

/** The outcome if the GET for the live token was not answered. */
export function unanswered(called: Unanswered, isOpen: boolean): RotationOutcome {
  if (called.kind === "interrupted") return { kind: "left" };
  const { code, message } = called.failure;
  return { kind: "failed", failure: { code, message }, isOpen };
}
