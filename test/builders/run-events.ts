import type { RunEvent } from "../../src/ports/observer.ts";

export const aPlanned = (changes: number): RunEvent => ({
  kind: "planned",
  changes,
  unchanged: 0,
  missing: 0,
});

export const aRecorded = (): Extract<RunEvent, { kind: "recorded" }> => ({
  kind: "recorded",
  user_group_id: "acme",
  result: "created",
  unverified: false,
  tokenFingerprint: "the-fingerprint",
});

export const aRotated = (): RunEvent => ({
  kind: "rotated",
  user_group_id: "acme",
  tokenFingerprint: "the-fingerprint",
  formerTokenFingerprint: "the-former",
});

export const anUnstored = (user_group_id = "acme", message = "customers refused the token"): RunEvent => ({
  kind: "unstored",
  user_group_id,
  code: "TOKEN_NOT_STORED",
  message,
  hint: "look at the constraints",
  waitMs: 4_000,
});
