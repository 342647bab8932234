import type { OwnersMark } from "./owners-mark.ts";

/** The config that wants to write to a destination. */
export interface Self {
  readonly name: string;
  readonly baseUrl: string;
  /** Null as long as the ledger has no tables. */
  readonly ledgerId: string | null;
  /** Whether the service has ever told this ledger a group of this scope. */
  readonly knowsGroups: boolean;
}

/** What the mark of a destination says; "unreadable" where this user may not look whether there is one. */
export type FoundMark = OwnersMark | null | "unreadable";

/**
 * - `keep`: the destination is marked as ours.
 * - `claim`: mark it before anything is sent.
 * - `adopt`: mark it once the service's first answer has shown the right team, before a token is stored.
 * - `unmarked`: go on without a mark, and say so.
 * - `refuse`: write nothing there, and send nothing.
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
 * | our name and ledger, no answer from there yet | any          | any          | keep      |
 * | our name and base_url, another ledger         | empty        | any          | adopt     |
 * | unreadable                                    | knows groups | any          | unmarked  |
 * |                                               | empty        | none         | unmarked  |
 * |                                               | empty        | some         | refuse    |
 * | anything else                                 | any          | any          | refuse    |
 */
export function ownershipOf(mark: FoundMark, holdsTokens: boolean, self: Self): Ownership {
  const mayBeAnothers = holdsTokens && !self.knowsGroups;
  if (mark === "unreadable") return mayBeAnothers ? "refuse" : "unmarked";
  if (mark === null) return mayBeAnothers ? "adopt" : "claim";
  if (mark.name !== self.name) return "refuse";
  if (mark.baseUrl === null) return mayBeAnothers ? "adopt" : "claim";
  const isSameService = mark.baseUrl === self.baseUrl;
  if (mark.ledgerId === self.ledgerId) return isSameService || mark.teamId === null ? "keep" : "refuse";
  return isSameService && !self.knowsGroups ? "adopt" : "refuse";
}

/** Whether it matters if there are tokens: in some stores, to look for them takes a while. */
export const dependsOnTokens = (mark: FoundMark, self: Self): boolean =>
  ownershipOf(mark, true, self) !== ownershipOf(mark, false, self);
