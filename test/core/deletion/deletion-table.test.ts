import { describe, expect, it } from "vitest";
import {
  type GuardResult,
  guardRemovals,
  isAllowed,
  RemovalSummaryBuilder,
} from "../../../src/core/deletion/removals.ts";
import type { AbsenceKind, Intent } from "../../../src/core/group/ledger-group.ts";
import type { DeletionPolicy } from "../../../src/core/plan/deletion-policy.ts";
import { type PlannedAction, planAction, type UpdatePolicy } from "../../../src/core/plan/planned-action.ts";
import {
  aDecisionContext,
  aDelete,
  aDesiredTenant,
  aFlaggedTenant,
  aLedgerGroup,
  anAbsence,
  aReading,
} from "../../builders/groups.ts";

/**
 * What becomes of one tenant's group, from the decision on it to the clearance for all. The compiler insists on
 * every cell. A row that is rejected or not ready leaves everything as it is: planned-action.test.ts. In the words of the operator:
 *
 * - keep: nothing is done, nor is anything coming
 * - wait: kept, and deleted once the grace period is over
 * - hold: its deletion or replacement is due, and needs the operator's approval
 * - doubt: its deletion is due, and the read is not worth enough to do it
 */
type Fate = "create" | "update" | "replace" | "outdated" | "keep" | "wait" | "delete" | "hold" | "doubt";

/** Purged: absent, and flagged when it was last seen. */
type TenantIs = "present" | "absent" | "flagged" | "purged";
/** In the ledger: not at all, at rest, or with a call that an earlier run has left under way. */
type Ownership = "unknown" | "owned" | "creating" | "updating" | "replacing" | "deleting";
/** Healthy; empty but for this row; or of another source than the one that the groups came from. */
type Read = "healthy" | "empty" | "elsewhere";
type Limit = "within" | "beyond";
type Grace = "running" | "over";

type Row = Record<Limit, Record<Grace, Fate>>;
type Table = Record<TenantIs, Record<Ownership, Record<Read, Row>>>;

const row = (withinRunning: Fate, withinOver: Fate, beyondRunning: Fate, beyondOver: Fate): Row => ({
  within: { running: withinRunning, over: withinOver },
  beyond: { running: beyondRunning, over: beyondOver },
});
/** Neither the limit nor the grace period matters. */
const all = (fate: Fate): Row => row(fate, fate, fate, fate);

/** `deletion.when: absent`, `service.update: upsert`, and present tenants that have not changed. */
// biome-ignore format: a table is read by its columns
const TABLE: Table = {
  present: {
    unknown:   { healthy: all("create"), empty: all("create"), elsewhere: all("create") },
    owned:     { healthy: all("keep"), empty: all("keep"), elsewhere: all("keep") },
    creating:  { healthy: all("create"), empty: all("create"), elsewhere: all("create") },
    updating:  { healthy: all("update"), empty: all("update"), elsewhere: all("update") },
    replacing: { healthy: all("replace"), empty: all("replace"), elsewhere: all("replace") },
    deleting:  { healthy: all("update"), empty: all("update"), elsewhere: all("update") },
  },
  // limit:                     within               beyond
  // grace period:              running    over      running    over
  absent: {
    unknown:   { healthy: all("keep"), empty: all("keep"), elsewhere: all("keep") },
    owned:     { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    creating:  { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    updating:  { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    replacing: { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    deleting:  { healthy: all("delete"), empty: all("doubt"), elsewhere: all("delete") },
  },
  flagged: {
    unknown:   { healthy: all("keep"), empty: all("keep"), elsewhere: all("keep") },
    owned:     { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "delete",  "wait",    "hold"  ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    creating:  { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "delete",  "wait",    "hold"  ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    updating:  { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "delete",  "wait",    "hold"  ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    replacing: { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "delete",  "wait",    "hold"  ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    deleting:  { healthy: all("delete"), empty: all("delete"), elsewhere: all("delete") },
  },
  purged: {
    unknown:   { healthy: all("keep"), empty: all("keep"), elsewhere: all("keep") },
    owned:     { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    creating:  { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    updating:  { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    replacing: { healthy:   row("wait",    "delete",  "wait",    "hold"  ),
                 empty:     row("wait",    "doubt",   "wait",    "doubt" ),
                 elsewhere: row("wait",    "hold",    "wait",    "hold"  ) },
    deleting:  { healthy: all("delete"), empty: all("doubt"), elsewhere: all("delete") },
  },
};

/** What else may count as evidence. A deletion that was begun is finished, also where a row has vanished since. */
type Policy = Exclude<DeletionPolicy["when"], "absent">;
type Gone = Exclude<TenantIs, "present">;

// biome-ignore format: a table is read by its columns
const BY_POLICY: Record<Policy, Record<Gone, Record<Ownership, Row>>> = {
  // limit:          within               beyond
  // grace period:   running    over      running    over
  flagged: {
    absent: {
      unknown:   all("keep"),
      owned:     all("keep"),
      creating:  all("keep"),
      updating:  all("keep"),
      replacing: all("keep"),
      deleting:  all("delete"),
    },
    flagged: {
      unknown:   all("keep"),
      owned:     row("wait",    "delete",  "wait",    "hold"  ),
      creating:  row("wait",    "delete",  "wait",    "hold"  ),
      updating:  row("wait",    "delete",  "wait",    "hold"  ),
      replacing: row("wait",    "delete",  "wait",    "hold"  ),
      deleting:  all("delete"),
    },
    purged: {
      unknown:   all("keep"),
      owned:     row("wait",    "delete",  "wait",    "hold"  ),
      creating:  row("wait",    "delete",  "wait",    "hold"  ),
      updating:  row("wait",    "delete",  "wait",    "hold"  ),
      replacing: row("wait",    "delete",  "wait",    "hold"  ),
      deleting:  all("delete"),
    },
  },
  never: {
    absent: {
      unknown:   all("keep"),
      owned:     all("keep"),
      creating:  all("keep"),
      updating:  all("keep"),
      replacing: all("keep"),
      deleting:  all("keep"),
    },
    flagged: {
      unknown:   all("keep"),
      owned:     all("keep"),
      creating:  all("keep"),
      updating:  all("keep"),
      replacing: all("keep"),
      deleting:  all("keep"),
    },
    purged: {
      unknown:   all("keep"),
      owned:     all("keep"),
      creating:  all("keep"),
      updating:  all("keep"),
      replacing: all("keep"),
      deleting:  all("keep"),
    },
  },
};

/** A present tenant that has changed. What takes its group away is held, unless it was begun. */
// biome-ignore format: a table is read by its columns
const CHANGED: Record<UpdatePolicy, Record<Ownership, Record<Limit, Fate>>> = {
  upsert: {
    unknown:   { within: "create",   beyond: "create"   },
    owned:     { within: "update",   beyond: "update"   },
    creating:  { within: "create",   beyond: "create"   },
    updating:  { within: "update",   beyond: "update"   },
    replacing: { within: "replace",  beyond: "replace"  },
    deleting:  { within: "update",   beyond: "update"   },
  },
  replace: {
    unknown:   { within: "create",   beyond: "create"   },
    owned:     { within: "replace",  beyond: "hold"     },
    creating:  { within: "create",   beyond: "create"   },
    updating:  { within: "replace",  beyond: "hold"     },
    replacing: { within: "replace",  beyond: "replace"  },
    deleting:  { within: "replace",  beyond: "replace"  },
  },
  never: {
    unknown:   { within: "create",   beyond: "create"   },
    owned:     { within: "outdated", beyond: "outdated" },
    creating:  { within: "create",   beyond: "create"   },
    updating:  { within: "outdated", beyond: "outdated" },
    replacing: { within: "replace",  beyond: "replace"  },
    deleting:  { within: "update",   beyond: "update"   },
  },
};

interface Circumstance {
  readonly tenant: TenantIs;
  readonly ownership: Ownership;
  readonly read: Read;
  readonly limit: Limit;
  readonly grace: Grace;
  readonly when: DeletionPolicy["when"];
  readonly update: UpdatePolicy;
  readonly isChanged: boolean;
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

describe("a changed tenant, with service.update", () => {
  const cells = entries(CHANGED).flatMap(([update, byOwnership]) =>
    entries(byOwnership).map(([ownership, fates]) => [update, ownership, fates] as const),
  );
  it.each(cells)("%s: a group that is %s", (update, ownership, fates) => {
    const changed = { tenant: "present", read: "healthy", grace: "running", when: "absent" } as const;
    const fate = (limit: Limit): Fate => fateOf({ ...changed, update, ownership, limit, isChanged: true });
    expect({ within: fate("within"), beyond: fate("beyond") }).toEqual(fates);
  });
});

function fatesOf(circumstance: Pick<Circumstance, "tenant" | "ownership" | "read" | "when">): Row {
  const fate = (limit: Limit, grace: Grace): Fate =>
    fateOf({ ...circumstance, limit, grace, update: "upsert", isChanged: false });
  return row(
    fate("within", "running"),
    fate("within", "over"),
    fate("beyond", "running"),
    fate("beyond", "over"),
  );
}

const HOUR = 3_600_000;
const LIMIT = { count: 3, percent: 10 };
const OWNED = 50;

function fateOf({ tenant, ownership, read, limit, grace, when, update, isChanged }: Circumstance): Fate {
  const reading = aReading({ clock: { ms: 100 * HOUR, reads: 100 }, sourceChanged: read === "elsewhere" });
  const healthyHours = grace === "over" ? 24 : 23;
  const absence = anAbsence({
    kind: absenceKindOf(tenant, read),
    at: { ms: reading.clock.ms - healthyHours * HOUR, reads: 1 },
  });
  const fingerprint = ownership === "creating" ? null : isChanged ? "another" : aDesiredTenant().fingerprint;
  const known =
    ownership === "unknown" ? undefined : aLedgerGroup({ absence, fingerprint, intent: INTENTS[ownership] });

  const deletion = { when, gracePeriodMs: 24 * HOUR, limit: LIMIT };
  const decision = planAction(TENANTS[tenant], known, aDecisionContext({ update, deletion, reading }));
  const isConclusive = read !== "empty" || ["present", "flagged"].includes(tenant);
  return inWords(decision, clearanceFor(decision, limit, isConclusive));
}

const TENANTS = {
  present: aDesiredTenant(),
  absent: undefined,
  flagged: aFlaggedTenant(),
  purged: undefined,
};

const INTENTS: Record<Exclude<Ownership, "unknown">, Intent | null> = {
  owned: null,
  creating: "apply",
  updating: "apply",
  replacing: "replace",
  deleting: "delete",
};

function absenceKindOf(tenant: TenantIs, read: Read): AbsenceKind {
  if (read === "elsewhere") return "estranged";
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
    case "replace":
      if (isAllowed(decision, guard)) return decision.kind;
      return guard.kind === "inconclusive" ? "doubt" : "hold";
    case "missing":
      return decision.dueInMs === null ? "keep" : "wait";
    case "create":
    case "update":
    case "outdated":
      return decision.kind;
    case "rejected":
    case "not_ready":
    case "gone":
    case "waiting":
      throw new Error("no row of these tables waits or is rejected, and no group has failed or is named");
  }
}

function entries<K extends string, V>(record: Readonly<Record<K, V>>): [K, V][] {
  return Object.entries(record) as [K, V][];
}
