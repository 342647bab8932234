import { createHash } from "node:crypto";
import type { Held } from "./clearance.ts";

/** What a code is good for beside its set: one ledger's groups, until the next approval. */
export interface ApprovalScope {
  readonly baseUrl: string | null;
  readonly approvals: number;
}

const CODE_LENGTH = 12;

/** The code by which an operator approves a set of removals, which are added in the order of their ids. */
export class ApprovalCode {
  readonly #hash = createHash("sha256");

  constructor({ baseUrl, approvals }: ApprovalScope) {
    this.#add(String(baseUrl), String(approvals));
  }

  add({ kind, user_group_id }: Held): void {
    this.#add(kind, user_group_id);
  }

  /** Lower-case hexadecimal. Nothing can be added afterwards. */
  get(): string {
    return this.#hash.digest("hex").slice(0, CODE_LENGTH);
  }

  #add(...fields: string[]): void {
    // No field can hold a NUL: two sets that differ never read the same.
    for (const field of fields) this.#hash.update(`${field}\0`);
  }
}
