import type { Failure } from "../core/outcome.ts";
import type { Secret } from "../core/secret.ts";
import type { Unanswered } from "./service-calls.ts";
import { sharedBy, sharedFailure } from "./shared-tokens.ts";

export interface Failed {
  readonly kind: "failed";
  readonly failure: Failure;
  /** The live token, where it is known. */
  readonly live?: Secret;
  /** See `RotationResult`. */
  readonly sharedToken?: string;
  /** A POST may have its effect yet, or the live token isn't stored. */
  readonly isOpen: boolean;
}

/** What became of a rotation's calls. */
export type Rotated =
  | { readonly kind: "done"; readonly token: Secret }
  | Failed
  /** Not made, because the run is ending. */
  | { readonly kind: "left" };

/** The service tells a token of another group for this one: the next run asks again. */
export function sharedWith(token: Secret): Failed {
  const failure = sharedFailure();
  return { kind: "failed", failure, ...sharedBy(failure, token), isOpen: true };
}

/** Of a GET that was to tell the live token. */
export function unanswered(called: Unanswered, isOpen: boolean): Rotated {
  if (called.kind === "interrupted") return { kind: "left" };
  const { code, message } = called.failure;
  return { kind: "failed", failure: { code, message }, isOpen };
}
