import { createHash } from "node:crypto";
import type { Removal } from "../plan/change.ts";

/** A code approves removals of one config only, and only until the next approval. */
export interface ApprovalScope {
  /** The `name` of the config. */
  readonly name: string;
  readonly baseUrl: string | null;
  /** How many approvals there were so far: each one makes all earlier codes invalid. */
  readonly approvals: number;
}

/** Hexadecimal digits: 80 bits are too many for anybody to find another set of removals with the same code. */
const CODE_LENGTH = 20;

/** The code by which an operator approves exactly these removals. Add them in the order of their ids. */
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
    // No field can contain a NUL, so different sets of removals give different texts to hash.
    for (const field of fields) this.#hash.update(`${field}\0`);
  }
}
