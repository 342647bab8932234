import { createHash } from "node:crypto";
import type { Removal } from "./change.ts";

/** What a code is good for beside its set: the groups of one config, until the next approval. */
export interface ApprovalScope {
  /** The config's. */
  readonly name: string;
  readonly baseUrl: string | null;
  readonly approvals: number;
}

/** 80 bits: too many to find another set with the same code. */
const CODE_LENGTH = 20;

/** The code by which an operator approves a set of removals, which are added in the order of their ids. */
export class ApprovalCode {
  readonly #hash = createHash("sha256");

  constructor({ name, baseUrl, approvals }: ApprovalScope) {
    this.#add(name, String(baseUrl), String(approvals));
  }

  add(removal: Removal): void {
    this.#add(removal.kind, removal.user_group_id, removal.kind === "replace" ? removal.fingerprint : "");
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
