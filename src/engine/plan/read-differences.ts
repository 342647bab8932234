import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import { BUCKETS, type SourceBucket, type Tenant, type TenantRow } from "../../core/group/tenant.ts";
import type { PlanningContext } from "../../core/plan/planned-action.ts";
import type { GroupReads, LedgerBucket } from "../../ports/ledger/groups.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";
import type { SourceRole, TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { mergeById } from "./merge-by-id.ts";
import type { PlanBuilder } from "./plan-builder.ts";
import { inOneBatch, readTenants } from "./read-tenants.ts";

/** What the reads of a plan need, and what they feed. */
export interface PlanRead {
  readonly source: TenantSource;
  readonly ledger: LedgerView;
  readonly service: KnownService;
  readonly rules: GroupRules;
  readonly stop: AbortSignal;
  /** The table that the last run read. */
  readonly tableBefore: string | null;
  readonly builder: PlanBuilder;
  /** Decides about one id, of which the source or the ledger or both have something. In the order of the ids. */
  readonly decide: (tenant: Tenant | undefined, group: LedgerGroup | undefined) => void;
}

/** What a read says of the source itself. */
interface ReadSource {
  /** The table, with its schema; null for a query. */
  readonly table: string | null;
  /** About the database role that reads the source. */
  readonly warnings: readonly Warning[];
  /** The ids that were looked up, and that neither the source nor the ledger has. */
  readonly unknown: ReadonlySet<string>;
}

/**
 * Reads the source and the ledger side by side, in one snapshot of each. Leaves out buckets whose rows equal what the ledger
 * has recorded.
 */
export async function readAll({
  source,
  ledger,
  service,
  rules,
  stop,
  tableBefore,
  builder,
  decide,
}: PlanRead): Promise<ReadSource> {
  const snapshot = await source.open(columnsOf(rules), digestSeed(rules), stop, tableBefore);
  try {
    // An empty ledger has no buckets to compare.
    const { changed, unchanged, notReady } =
      service.baseUrl === null
        ? ALL_BUCKETS
        : await findChangedBuckets(snapshot, ledger, { serviceUpdates: service.updates });
    builder.addUnread({ unchanged, notReady });
    if (changed?.length !== 0) {
      const { rows, groups, ...unread } = await readBuckets(snapshot, ledger, changed, unchanged);
      builder.addUnread({ unchanged: 0, ...unread });
      await mergeById(readTenants(rows, rules), groups, (tenant, group) => {
        if (group !== undefined) builder.see(group);
        decide(tenant, group);
      });
    }
    return { table: snapshot.table, warnings: roleWarnings(await snapshot.role()), unknown: new Set() };
  } finally {
    await snapshot.close();
  }
}

/** Looks these ids up in the source and in the ledger. */
export async function readSome(
  only: ReadonlySet<string>,
  { source, ledger, rules, stop, tableBefore, builder, decide }: PlanRead,
): Promise<ReadSource> {
  const ids = [...only];
  const lookups = await source.lookups(columnsOf(rules), digestSeed(rules), stop, tableBefore);
  try {
    const [rows, groups] = await Promise.all([lookups.rowsOf(ids), ledger.of(ids)]);
    const unknown = new Set(ids);
    await mergeById(readTenants(inOneBatch(rows), rules), inOneBatch(groups), (tenant, group) => {
      const id = tenant?.user_group_id ?? group?.user_group_id;
      // An empty id is none.
      if (id === undefined) return;
      unknown.delete(id);
      decide(tenant, group);
    });
    if (builder.removals > 0) {
      builder.seeTotals({
        owned: await ledger.existingCount({}),
        removalsUnderWay: await ledger.existingCount({ underWay: "a removal" }),
      });
    }
    return { table: lookups.table, warnings: [], unknown };
  } finally {
    await lookups.close();
  }
}

/** Warns if the role that reads the source can do more than read the tenants. */
export function roleWarnings({ name, secrets, openSchemas }: SourceRole): readonly Warning[] {
  const reads = {
    code: "SOURCE_ROLE_READS_TOKENS",
    message: `user ${name} of source.url can read ${secrets.join(" and ")}, and so can the owner of a view or function that the source reads`,
    hint: "give source.url a user of its own that can read the tenants alone: see docs/security.md#roles-and-rights",
  };
  const finds = openSchemas.map((schema) => ({
    code: "SOURCE_PATH_OPEN",
    message: `the SQL in \`source\` finds its functions and operators in schema ${schema} too, where others than user ${name} may create them and so run code as this user`,
    hint: `let only the schema's owner create in it (REVOKE CREATE ON SCHEMA ${schema} FROM …); or write each table in \`source\` as schema.table, and set the user's search_path to pg_catalog`,
  }));
  const all = secrets.length === 0 ? finds : [reads, ...finds];
  return all.map((warning) => ({ kind: "warning", ...warning, isStanding: true }));
}

/** A bucket that may hold a difference, as the source has it. */
export interface ChangedBucket extends SourceBucket {
  /** How many groups and rejected rows the ledger has in it. */
  readonly known: number;
}

interface ChangedBuckets {
  /** Undefined if all buckets have to be read. */
  readonly changed: readonly ChangedBucket[] | undefined;
  /** How many rows the other buckets have. These rows equal what the ledger has recorded. */
  readonly unchanged: number;
  /** How many rows of the other buckets are not ready. */
  readonly notReady: number;
}

const NO_GROUPS = { rows: 0, sum: "0", dirty: 0 };

/** All buckets have to be read. */
const ALL_BUCKETS: ChangedBuckets = { changed: undefined, unchanged: 0, notReady: 0 };

/** With more changed buckets than this, one read of everything costs the database less. */
const TOO_MANY = BUCKETS / 4;

/**
 * Finds the buckets in which the source and the ledger may differ. Compares the sums of row digests bucket by bucket, as
 * database replicas do before a repair. A bucket is unchanged only if both sides have the same number of rows with the same
 * sum, and none of its groups is under way, failing or gone. Rows that are not ready are only counted, so they cost
 * nothing unless they have groups.
 */
export async function findChangedBuckets(
  snapshot: Pick<TenantSnapshot, "buckets">,
  ledger: Pick<GroupReads, "buckets">,
  { serviceUpdates }: Pick<PlanningContext, "serviceUpdates">,
): Promise<ChangedBuckets> {
  const [ours, theirs] = await Promise.all([
    ledger.buckets({ unverifiedAtRest: serviceUpdates !== false }),
    snapshot.buckets(),
  ]);
  const unmatched = new Map(ours.map((bucket) => [bucket.bucket, bucket]));
  const changed: ChangedBucket[] = [];
  let unchanged = 0;
  let waiting = 0;
  for (const their of theirs) {
    const { bucket, rows, sum, notReady } = their;
    const our = unmatched.get(bucket) ?? NO_GROUPS;
    unmatched.delete(bucket);
    if (our.dirty === 0 && our.rows === rows && our.sum === sum) {
      unchanged += rows;
      waiting += notReady;
    } else changed.push({ ...their, known: knownIn(our) });
  }
  for (const [bucket, our] of unmatched)
    changed.push({ bucket, rows: 0, sum: "0", notReady: 0, known: knownIn(our) });
  return changed.length > TOO_MANY ? ALL_BUCKETS : { changed, unchanged, notReady: waiting };
}

const knownIn = ({ rows, dirty }: Pick<LedgerBucket, "rows" | "dirty">): number => rows + dirty;

/** The contents of some buckets, or of all, on both sides: in batches, ordered by id. */
interface BucketContents {
  readonly rows: AsyncIterable<readonly TenantRow[]>;
  readonly groups: AsyncIterable<readonly LedgerGroup[]>;
  /** How many rows that are not ready, and have no group, are in the buckets beside `rows`. */
  readonly notReady: number;
}

type Snapshot = Pick<TenantSnapshot, "rows" | "isIndexed" | "rowsOf">;
type Ledger = Pick<LedgerView, "groups" | "rejections">;

/** So many ids are looked up in any case. */
const FEW = 100;
/** Of more, at most one for so many rows that need not be read: an id by an index costs about as much as they do. */
const ROWS_FOR_AN_ID = 100;
/** Rows and groups of these ids are in memory: about as many as when buckets are read in batches. */
const MOST = 5_000;

/**
 * Reads the changed buckets, or all if they are undefined. Few rows are looked up by the ids that the ledger knows in these
 * buckets, because to find the rows of a bucket the database has to compute the bucket of each row.
 */
export async function readBuckets(
  snapshot: Snapshot,
  ledger: Ledger,
  changed: readonly ChangedBucket[] | undefined,
  unchanged: number,
): Promise<BucketContents> {
  if (changed && mayKnowAll(changed, unchanged)) {
    const found = await lookUp(snapshot, ledger, changed);
    if (found) return found;
  }
  const buckets = changed?.map(({ bucket }) => bucket);
  return { rows: snapshot.rows(buckets), groups: ledger.groups(buckets), notReady: 0 };
}

function mayKnowAll(changed: readonly ChangedBucket[], unchanged: number): boolean {
  const ids = changed.reduce((sum, { known }) => sum + known, 0);
  const isFew = ids <= FEW || ids * ROWS_FOR_AN_ID <= unchanged;
  return isFew && ids <= MOST && changed.every(({ rows, known }) => rows <= known);
}

/** Undefined if no index finds an id, and if the buckets have rows whose ids the ledger doesn't know. */
async function lookUp(
  snapshot: Snapshot,
  ledger: Ledger,
  changed: readonly ChangedBucket[],
): Promise<BucketContents | undefined> {
  if (!(await snapshot.isIndexed())) return undefined;
  const missing = new Map(changed.map(({ bucket, rows }) => [bucket, rows]));
  const groups: LedgerGroup[] = [];
  for await (const batch of ledger.groups([...missing.keys()])) groups.push(...batch);
  const rejected = (await ledger.rejections()).filter(({ bucket }) => missing.has(bucket));
  const ids = [...groups, ...rejected].flatMap(({ user_group_id }) => user_group_id ?? []);

  const rows = await snapshot.rowsOf(ids);
  let notReady = changed.reduce((sum, bucket) => sum + bucket.notReady, 0);
  for (const { digest, removed, notReady: waits } of rows) {
    const { bucket } = digest;
    if (waits) notReady--;
    else if (!removed) missing.set(bucket, (missing.get(bucket) ?? 0) - 1);
  }
  // The snapshot has counted these rows itself, so the same number of them is all of them.
  const isAll = [...missing.values()].every((count) => count === 0);
  return isAll ? { rows: inOneBatch(rows), groups: inOneBatch(groups), notReady } : undefined;
}
