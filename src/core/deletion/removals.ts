import { createHash } from "node:crypto";
import type { Failure } from "../failure/sync-error.ts";
import { intendsRemoval, type LedgerGroup } from "../group/ledger-group.ts";
import { isClear, isRemoval, type Removal } from "../plan/change.ts";
import { type DeletionLimit, removalsAllowed } from "../plan/deletion-policy.ts";
import type { PlannedAction } from "../record/decide.ts";
import { quantities, quantity } from "../text/quantity.ts";

/** The removals that a plan asks for. */
export interface RemovalSummary {
  /** Deletions that are due, and that no run has begun. */
  readonly deletions: number;
  /** Replacements that are due, and that no run has begun. */
  readonly replacements: number;
  /** Removals that an earlier run began, when they were allowed. */
  readonly underWay: number;
  /** Of the deletions: how many are of tenants that were never seen in the source that the config names now. */
  readonly unseen: number;
  /** Approves exactly the removals that are due. */
  readonly code: string;
  /** Groups whose tenants are gone. */
  readonly gone: number;
  /** Of these: groups that are never deleted, by `deletion.when`. */
  readonly kept: number;
}

/** A code approves removals of one config only, and only until the next approval. */
interface ApprovalScope {
  /** The `name` of the config. */
  readonly name: string;
  readonly baseUrl: string | null;
  /** How many approvals there were so far: each one makes all earlier codes invalid. */
  readonly approvals: number;
}

/** Hexadecimal digits: 80 bits are too many for anybody to find another set of removals with the same code. */
const CODE_LENGTH = 20;

/**
 * Counts a plan's removals without keeping them, and computes the code by which an operator approves exactly these removals.
 * Planned actions have to come in the order of their ids.
 */
export class RemovalSummaryBuilder {
  readonly #hash = createHash("sha256");
  readonly #counts = { deletions: 0, replacements: 0, underWay: 0, unseen: 0, gone: 0, kept: 0 };

  constructor({ name, baseUrl, approvals }: ApprovalScope) {
    this.#addToCode(name, String(baseUrl), String(approvals));
  }

  add(action: PlannedAction): void {
    const counts = this.#counts;
    if (action.kind === "delete" && action.absence === "canary") return;
    if (action.kind === "delete" || action.kind === "missing") counts.gone++;
    if (action.kind === "missing" && action.dueInMs === null) counts.kept++;
    if (!isRemoval(action) || isClear(action)) return;
    const replaces = action.kind === "replace";
    this.#addToCode(action.kind, action.user_group_id, replaces ? action.fingerprint : "");
    if (replaces) {
      counts.replacements++;
    } else {
      counts.deletions++;
      if (action.absence === "unseen") counts.unseen++;
    }
  }

  /** Counts a removal that an earlier run began: the service may have done it, whatever is planned for the group now. */
  see({ intent }: Pick<LedgerGroup, "intent">): void {
    if (intendsRemoval(intent)) this.#counts.underWay++;
  }

  /** As `see`, for this many groups. */
  seeUnderWay(count: number): void {
    this.#counts.underWay += count;
  }

  /** Nothing can be added afterwards. */
  summary(): RemovalSummary {
    return { ...this.#counts, code: this.#hash.digest("hex").slice(0, CODE_LENGTH) };
  }

  #addToCode(...fields: string[]): void {
    // No field can contain a NUL, so different sets of removals give different texts to hash.
    for (const field of fields) this.#hash.update(`${field}\0`);
  }
}

/** A deletion or a replacement that waits for approval. */
export interface HeldRemoval {
  readonly kind: Removal["kind"];
  readonly user_group_id: string;
}

export interface Circumstances {
  /** The read of the source had at least one valid row. Without a valid row, the source itself may be wrong. */
  readonly conclusive: boolean;
  /** Groups in the ledger. */
  readonly owned: number;
  /** Removals done in the last 24 hours. */
  readonly recent: number;
  readonly limit: DeletionLimit;
  /** The code that the operator gave. */
  readonly approval?: string | undefined;
}

/** Which of a plan's removals may be done: all, only those under way, or none. */
export type GuardResult = Allowed | HeldBack | Inconclusive;

interface Allowed {
  readonly kind: "allowed";
  /** They are allowed only because the operator gave their code. */
  readonly approved: boolean;
}

interface HeldBack {
  readonly kind: "held";
  readonly removals: RemovalSummary;
  readonly circumstances: Circumstances;
}

interface Inconclusive {
  readonly kind: "inconclusive";
  /** `gone` and `kept` as in `RemovalSummary`. */
  readonly gone: number;
  readonly kept: number;
}

/**
 * Decides on all removals of a plan together, because a mistake in the source makes many tenants disappear at once. The
 * first row that fits counts.
 *
 * | read         | removals that are due                        | result       |
 * |--------------|----------------------------------------------|--------------|
 * | inconclusive | any number, even 0, if a tenant is gone      | inconclusive |
 * | any          | none                                         | allowed      |
 * | any          | approved by the code of exactly this set     | allowed      |
 * | any          | of tenants unseen in the new source          | held         |
 * | any          | more than the limit, together with removals  | held         |
 * |              | of the last 24 hours and removals under way  |              |
 * | any          | within the limit                             | allowed      |
 */
export function guardRemovals(removals: RemovalSummary, circumstances: Circumstances): GuardResult {
  const { conclusive, owned, recent, limit, approval } = circumstances;
  const { gone, kept } = removals;
  // Whatever `deletion.when` says: a run must not report success if the source has lost all its rows.
  if (!conclusive && gone > 0) return { kind: "inconclusive", gone, kept };
  const due = removalsDue(removals);
  if (due === 0) return { kind: "allowed", approved: false };
  const exceeds = due + removals.underWay + recent > removalsAllowed(limit, owned);
  if (!exceeds && removals.unseen === 0) return { kind: "allowed", approved: false };
  if (approval === removals.code) return { kind: "allowed", approved: true };
  return { kind: "held", removals, circumstances };
}

/** The removals that the guard decides on: all that are not under way yet. */
export const removalsDue = ({
  deletions,
  replacements,
}: Pick<RemovalSummary, "deletions" | "replacements">): number => deletions + replacements;

/** Whether this removal is done now. A removal that is clear of the limit is done, unless the read is inconclusive. */
export function isAllowed(removal: Removal, { kind }: GuardResult): boolean {
  switch (kind) {
    case "allowed":
      return true;
    case "held":
      return isClear(removal);
    case "inconclusive":
      return false;
  }
}

/** The removals that wait for approval. */
export interface HeldGroups {
  readonly count: number;
  /**
   * Approves exactly these groups, as long as nothing else is approved. Null if only a plan or the next sync can tell the
   * code.
   */
  readonly code: string | null;
  /** In the order of the ids, a hundred at most. */
  readonly groups: readonly HeldRemoval[];
}

/** Removals that are not done, and why, for an operator. */
export interface HeldRemovals extends Failure {
  /** What the operator can do. */
  readonly hint: string;
  /** How many deletions and replacements are not done. */
  readonly count: number;
  /** The code that approves them; null if no approval is possible. */
  readonly approval: string | null;
}

/** Says which removals the guard holds, why, and what the operator can do. */
export function describeHeldRemovals(guard: HeldBack | Inconclusive): HeldRemovals {
  return guard.kind === "inconclusive" ? explainInconclusive(guard) : explainHeldBack(guard);
}

const explainInconclusive = ({ gone, kept }: Inconclusive): HeldRemovals => ({
  code: "SOURCE_INCONCLUSIVE",
  message: `the source returned no valid row, which may be a mistake, so ${quantity(gone, "group")} without a tenant ${are(gone)} kept`,
  hint: "check what the config's source section selects, and the database that source.url names; one valid row is enough for deletions to go on. To delete the very last groups, flag their rows (deletion.when: flagged)",
  count: gone - kept,
  approval: null,
});

function explainHeldBack({ removals, circumstances }: HeldBack): HeldRemovals {
  const { deletions, replacements, unseen, code: approval } = removals;
  const count = removalsDue(removals);
  const what = quantities([
    [deletions, "deletion"],
    [replacements, "replacement"],
  ]);
  const held = { code: "DELETIONS_HELD", count, approval };
  const approve = `groupsync sync --approve-deletions ${approval}`;
  if (unseen > 0) {
    return {
      ...held,
      message: `${what} ${are(count)} held: the config names another source than before (source.url, source.table, source.query or group.id), and ${unseen} of these tenants ${unseen === 1 ? "was" : "were"} never seen there`,
      hint: `if the new source is wrong, put the old one back: nothing was deleted. If it is right: ${approve}`,
    };
  }
  const { limit, owned, recent } = circumstances;
  const used = recent + removals.underWay;
  const already = used > 0 ? `, and ${used} went already` : "";
  return {
    ...held,
    message: `${what} ${are(count)} held: deletion.limit lets ${removalsAllowed(limit, owned)} of ${quantity(owned, "group")} go in 24 hours${already}`,
    hint: `${deletions > 0 ? OF_DELETIONS : OF_REPLACEMENTS} If so: ${approve}`,
  };
}

const OF_DELETIONS = "look at the source first: are these tenants really gone?";
const OF_REPLACEMENTS = "each of these groups gets a new token: will your application read it?";

const are = (count: number): string => (count === 1 ? "is" : "are");
