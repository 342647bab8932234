import type { OwnersMark } from "./owner-mark.ts";

/** The config that wants to write to a destination. */
export interface Claimant {
  readonly name: string;
  readonly baseUrl: string;
  /** Null if the ledger has no tables yet. */
  readonly ledgerId: string | null;
  /** Whether the ledger has a group of this scope that the service confirmed. */
  readonly knowsGroups: boolean;
}

/** The owner's mark of a destination; null if there is none; "unreadable" if this user may not read marks. */
export type FoundMark = OwnersMark | null | "unreadable";

/**
 * - `keep`: the mark is ours.
 * - `claim`: write our mark before the first request.
 * - `adopt`: write our mark after the service's first answer has shown the right team, and before any token.
 * - `unmarked`: write tokens without a mark, with a warning.
 * - `refuse`: write nothing there, and send no request.
 */
export type Ownership = "keep" | "claim" | "adopt" | "unmarked" | "refuse";

/**
 * Whether tokens may be written to a destination.
 *
 * | mark                                          | this ledger  | tokens there | ownership |
 * |-----------------------------------------------|--------------|--------------|-----------|
 * | none, or an older groupsync's with our name   | knows groups | any          | claim     |
 * |                                               | empty        | none         | claim     |
 * |                                               | empty        | some         | adopt     |
 * | our name and ledger, our base_url             | any          | any          | keep      |
 * | our name and ledger, no team yet              | any          | any          | keep      |
 * | our name and base_url, another ledger         | empty        | any          | adopt     |
 * | unreadable                                    | knows groups | any          | unmarked  |
 * |                                               | empty        | none         | unmarked  |
 * |                                               | empty        | some         | refuse    |
 * | anything else                                 | any          | any          | refuse    |
 */
export function ownershipOf(mark: FoundMark, holdsTokens: boolean, self: Claimant): Ownership {
  const mayBeAnothers = holdsTokens && !self.knowsGroups;
  if (mark === "unreadable") return mayBeAnothers ? "refuse" : "unmarked";
  if (mark === null) return mayBeAnothers ? "adopt" : "claim";
  if (mark.name !== self.name) return "refuse";
  if (mark.baseUrl === null) return mayBeAnothers ? "adopt" : "claim";
  const isSameService = mark.baseUrl === self.baseUrl;
  if (mark.ledgerId === self.ledgerId) return isSameService || mark.teamId === null ? "keep" : "refuse";
  return isSameService && !self.knowsGroups ? "adopt" : "refuse";
}

/** Whether `ownershipOf` depends on `holdsTokens`. If not, nobody has to look for tokens, which is slow in some stores. */
export const dependsOnTokens = (mark: FoundMark, self: Claimant): boolean =>
  ownershipOf(mark, true, self) !== ownershipOf(mark, false, self);
