import { remedyOf } from "../../core/failure/remedies.ts";
import type { RejectedTenant, RejectionCode } from "../../core/group/tenant.ts";
import { type Finding, warning } from "../../core/report/finding.ts";
import { printableId } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";

/** More are no list that somebody reads. */
const MOST_SHOWN = 10;
/** How many ids a finding names. */
export const EXAMPLES = 3;

interface Reason {
  readonly code: RejectionCode;
  readonly message: string;
  readonly examples: string[];
  rows: number;
}

/** Why rows are rejected: each reason once, with the number of its rows and the first of them. */
export class RejectionReasons {
  readonly #reasons = new Map<string, Reason>();

  add({ user_group_id, code, message }: RejectedTenant): void {
    const reason = this.#reasons.get(message) ?? { code, message, examples: [], rows: 0 };
    this.#reasons.set(message, reason);
    reason.rows++;
    if (reason.examples.length < EXAMPLES) reason.examples.push(printableId(user_group_id));
  }

  /** The reason of most rows first. */
  *findings(): Generator<Finding> {
    const reasons = [...this.#reasons.values()].sort((a, b) => b.rows - a.rows);
    for (const { code, message, examples, rows } of reasons.slice(0, MOST_SHOWN)) {
      const more = rows > examples.length ? ", …" : "";
      yield warning(
        `${quantity(rows, "row")} rejected (${code}): ${message}: ${examples.join(", ")}${more}`,
        `${remedyOf(code)}; ${UNTIL_THEN}`,
      );
    }
    const others = reasons.slice(MOST_SHOWN).reduce((sum, { rows }) => sum + rows, 0);
    if (others > 0) yield warning(`${quantity(others, "more row")} rejected for other reasons`, UNTIL_THEN);
  }
}

const UNTIL_THEN = "until then their groups stay as they are, and new ones get none";
