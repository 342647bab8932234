import { describe, expect, it } from "vitest";
import {
  type GuardResult,
  guardRemovals,
  isAllowed,
  RemovalSummaryBuilder,
} from "../../../src/core/deletion/removals.ts";
import type { AbsenceKind, LedgerGroup } from "../../../src/core/group/ledger-group.ts";
import type { DeletionPolicy } from "../../../src/core/plan/deletion-policy.ts";
import { decide, type PlannedAction } from "../../../src/core/record/decide.ts";
import {
  aDecisionContext,
  aDelete,
  aFlaggedTenant,
  aLedgerGroup,
  anAbsence,
  aReading,
} from "../../builders/groups.ts";

/**
 * What becomes of the group of a tenant that is gone, from the decision on it to the clearance for all. The compiler insists
 * on every cell. In the words of the operator:
 *
 * - keep: nothing is done, nor is anything coming
 * - wait: kept, and deleted once the grace period is over
 * - hold: its deletion is due, and needs the operator's approval
 * - doubt: its deletion is due, and the read is not worth enough to do it
 */
type Fate = "keep" | "wait" | "delete" | "hold" | "doubt";

/** Purged: absent, and flagged when it was last seen. */
type Gone = "absent" | "flagged" | "purged";
/** In the ledger: not at all, with a deletion that an earlier run has left under way, or in any other way. */
type Ownership = "unknown" | "owned" | "deleting";
/** Healthy; empty but for this row; or of another source than the one that the groups came from. */
type Read = "healthy" | "empty" | "elsewhere";
type Limit = "within" | "beyond";
type Grace = "running" | "over";

type Row = Record<Limit, Record<Grace, Fate>>;

const row = (withinRunning: Fate, withinOver: Fate, beyondRunning: Fate, beyondOver: Fate): Row => ({
  within: { running: withinRunning, over: withinOver },
  beyond: { running: beyondRunning, over: beyondOver },
});
/** Neither the limit nor the grace period matters. */
const all = (fate: Fate): Row => row(fate, fate, fate, fate);

// limit:                  within               beyond
// grace period:           running    over      running    over
const deletedIn = row("wait", "delete", "wait", "hold");
const heldIn = row("wait", "hold", "wait", "hold");
const doubtedIn = row("wait", "doubt", "wait", "doubt");

/** `deletion.when: absent`. */
// biome-ignore format: a table is read by its columns
const TABLE: Record<Gone, Record<Ownership, Record<Read, Row>>> = {
  absent: {
    unknown:  { healthy: all("keep"),   empty: all("keep"),   elsewhere: all("keep")   },
    owned:    { healthy: deletedIn,     empty: doubtedIn,     elsewhere: heldIn        },
    deleting: { healthy: all("delete"), empty: all("doubt"),  elsewhere: all("delete") },
  },
  flagged: {
    unknown:  { healthy: all("keep"),   empty: all("keep"),   elsewhere: all("keep")   },
    owned:    { healthy: deletedIn,     empty: deletedIn,     elsewhere: heldIn        },
    deleting: { healthy: all("delete"), empty: all("delete"), elsewhere: all("delete") },
  },
  purged: {
    unknown:  { healthy: all("keep"),   empty: all("keep"),   elsewhere: all("keep")   },
    owned:    { healthy: deletedIn,     empty: doubtedIn,     elsewhere: heldIn        },
    deleting: { healthy: all("delete"), empty: all("doubt"),  elsewhere: all("delete") },
  },
};

/** What else may count as evidence. A deletion that was begun is finished, also where a row has vanished since. */
type Policy = Exclude<DeletionPolicy["when"], "absent">;

// biome-ignore format: a table is read by its columns
const BY_POLICY: Record<Policy, Record<Gone, Record<Ownership, Row>>> = {
  flagged: {
    absent:  { unknown: all("keep"), owned: all("keep"), deleting: all("delete") },
    flagged: { unknown: all("keep"), owned: deletedIn,   deleting: all("delete") },
    purged:  { unknown: all("keep"), owned: deletedIn,   deleting: all("delete") },
  },
  never: {
    absent:  { unknown: all("keep"), owned: all("keep"), deleting: all("keep")   },
    flagged: { unknown: all("keep"), owned: all("keep"), deleting: all("keep")   },
    purged:  { unknown: all("keep"), owned: all("keep"), deleting: all("keep")   },
  },
};

interface Circumstance {
  readonly tenant: Gone;
  readonly known: LedgerGroup | undefined;
  readonly read: Read;
  readonly limit: Limit;
  readonly grace: Grace;
  readonly when: DeletionPolicy["when"];
  /** Of a sync of this tenant alone. */
  readonly skipsGrace?: boolean;
}

describe("deletion.when absent", () => {
  const cells = entries(TABLE).flatMap(([tenant, byOwnership]) =>
    entries(byOwnership).flatMap(([ownership, byRead]) =>
      entries(byRead).map(([read, fates]) => [tenant, ownership, read, fates] as const),
    ),
  );
  it.each(cells)(
    "a tenant that is %s, a group that is %s, a read that is %s",
    (tenant, ownership, read, fates) => {
      expect(fatesOf({ tenant, ownership, read, when: "absent" })).toEqual(fates);
    },
  );
});

describe("deletion.when", () => {
  const cells = entries(BY_POLICY).flatMap(([when, byTenant]) =>
    entries(byTenant).flatMap(([tenant, byOwnership]) =>
      entries(byOwnership).map(([ownership, fates]) => [when, tenant, ownership, fates] as const),
    ),
  );
  it.each(cells)("%s: a tenant that is %s, a group that is %s", (when, tenant, ownership, fates) => {
    expect(fatesOf({ tenant, ownership, read: "healthy", when })).toEqual(fates);
  });
});

/** `sync --only ID --skip-grace`, if the ledger has a group, and neither grace period nor limit matters. */
// biome-ignore format: a table is read by its columns
const SKIPPED: Record<Gone, Record<Read, Fate>> = {
  absent:  { healthy: "delete", empty: "doubt",  elsewhere: "delete" },
  flagged: { healthy: "delete", empty: "delete", elsewhere: "delete" },
  purged:  { healthy: "delete", empty: "doubt",  elsewhere: "delete" },
};

describe("the grace period is skipped", () => {
  const cells = entries(SKIPPED).flatMap(([tenant, byRead]) =>
    entries(byRead).map(([read, fate]) => [tenant, read, fate] as const),
  );
  it.each(cells)("a tenant that is %s, a read that is %s: %s", (tenant, read, fate) => {
    for (const ownership of ["owned", "deleting"] as const) {
      const of = { tenant, ownership, read, skipsGrace: true };
      for (const when of ["absent", "flagged"] as const) expect(fatesOf({ ...of, when })).toEqual(all(fate));
      expect(fatesOf({ ...of, when: "never" })).toEqual(all("keep"));
    }
  });
});

/** The same for every group that the ledger has in this way. */
function fatesOf({
  ownership,
  ...circumstance
}: Omit<Circumstance, "known" | "limit" | "grace"> & { ownership: Ownership }): Row {
  const rows = KNOWN[ownership].map((known) => {
    const fate = (limit: Limit, grace: Grace): Fate => fateOf({ ...circumstance, known, limit, grace });
    return row(
      fate("within", "running"),
      fate("within", "over"),
      fate("beyond", "running"),
      fate("beyond", "over"),
    );
  });
  const [first = all("keep"), ...others] = rows;
  for (const other of others) expect(other).toEqual(first);
  return first;
}

const HOUR = 3_600_000;
const LIMIT = { count: 3, percent: 10 };
const OWNED = 50;

function fateOf({ tenant, known, read, limit, grace, when, skipsGrace = false }: Circumstance): Fate {
  const reading = aReading({ clock: { ms: 100 * HOUR, reads: 100 }, sourceChanged: read === "elsewhere" });
  const healthyHours = grace === "over" ? 24 : 23;
  const absence = anAbsence({
    kind: absenceKindOf(tenant, read),
    at: { ms: reading.clock.ms - healthyHours * HOUR, reads: 1 },
  });
  const deletion = { when, gracePeriodMs: 24 * HOUR, limit: LIMIT };
  const { action: decision } = decide(
    tenant === "flagged" ? aFlaggedTenant() : undefined,
    known && { ...known, absence },
    aDecisionContext({ deletion, reading, isWhole: !skipsGrace, skipsGrace }),
  );
  return inWords(decision, clearanceFor(decision, limit, read !== "empty" || tenant === "flagged"));
}

const KNOWN: Record<Ownership, readonly (LedgerGroup | undefined)[]> = {
  unknown: [undefined],
  owned: [
    aLedgerGroup(),
    aLedgerGroup({ intent: "apply" }),
    aLedgerGroup({ intent: "replace" }),
    // Its creation is under way.
    aLedgerGroup({ fingerprint: null, intent: "apply" }),
  ],
  deleting: [aLedgerGroup({ intent: "delete" })],
};

function absenceKindOf(tenant: Gone, read: Read): AbsenceKind {
  if (read === "elsewhere") return "unseen";
  return tenant === "absent" ? "absent" : "flagged";
}

/** One of 50 groups is well within the limit; with five others that are due, all are beyond it. */
function clearanceFor(decision: PlannedAction | null, limit: Limit, isConclusive: boolean): GuardResult {
  const tally = new RemovalSummaryBuilder({ name: "default", baseUrl: null, approvals: 0 });
  if (decision) tally.add(decision);
  const others = limit === "beyond" ? 5 : 0;
  for (let n = 0; n < others; n++) tally.add(aDelete({ user_group_id: `other ${n}` }));
  return guardRemovals(tally.summary(), { conclusive: isConclusive, owned: OWNED, recent: 0, limit: LIMIT });
}

function inWords(decision: PlannedAction | null, guard: GuardResult): Fate {
  switch (decision?.kind) {
    case undefined:
      return "keep";
    case "delete":
      if (isAllowed(decision, guard)) return decision.kind;
      return guard.kind === "inconclusive" ? "doubt" : "hold";
    case "missing":
      return decision.dueInMs === null ? "keep" : "wait";
    default:
      throw new Error("no tenant of these tables is there, and no group has failed");
  }
}

function entries<K extends string, V>(record: Readonly<Record<K, V>>): [K, V][] {
  return Object.entries(record) as [K, V][];
}
