import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import { isRemoval, type Removal, type Step } from "../../core/plan/change.ts";
import type { Clock } from "../../ports/clock.ts";
import type { TenantLookups, TenantSource } from "../../ports/tenant-source.ts";
import { tenantsById } from "../plan/read-tenants.ts";

interface CheckPorts {
  readonly source: TenantSource;
  readonly clock: Clock;
}

/** For how long a lookup counts, in milliseconds. One lookup is of several tenants, because it may read the whole source. */
const COUNTS_FOR = 1_000;
const MOST_AT_ONCE = 500;

/**
 * Looks at a tenant once more right before its group is deleted or replaced: the tenant may be back, or changed, since the
 * source was read for the plan.
 */
export class RemovalCheck {
  readonly #ports: CheckPorts;
  readonly #rules: GroupRules;
  readonly #table: string | null;
  readonly #stop: AbortSignal;
  #lookups: Promise<TenantLookups> | undefined;
  #last: Lookup | undefined;

  /** `table` is the table that was read for the plan. */
  constructor(ports: CheckPorts, rules: GroupRules, table: string | null, stop: AbortSignal) {
    this.#ports = ports;
    this.#rules = rules;
    this.#table = table;
    this.#stop = stop;
  }

  /**
   * False if the removal is outdated. Of `begun`, removals follow soon. `insistsOnNow`: an earlier lookup doesn't count,
   * because somebody else may have seen a newer row. Rejects as the source's lookups do.
   */
  async isStillRight(removal: Removal, begun: Iterable<Step>, insistsOnNow = false): Promise<boolean> {
    const { user_group_id: id } = removal;
    const now = this.#ports.clock.monotonic();
    const isRecent = this.#last !== undefined && now - this.#last.at <= COUNTS_FOR;
    if (insistsOnNow || !isRecent || !this.#last?.ids.has(id)) {
      const next = [...begun].filter(isRemoval).slice(0, MOST_AT_ONCE);
      const ids = new Set([id, ...next.map(({ user_group_id }) => user_group_id)]);
      this.#last = { at: now, ids, tenants: this.#tenants([...ids]) };
    }
    const tenant = (await this.#last.tenants).get(id);
    if (removal.kind === "delete") return tenant === undefined || tenant.kind === "flagged";
    return tenant?.kind === "desired" && tenant.fingerprint === removal.fingerprint;
  }

  async close(): Promise<void> {
    await (await this.#lookups?.catch(() => undefined))?.close();
  }

  async #tenants(ids: readonly string[]): Promise<ReadonlyMap<string | null, Tenant>> {
    this.#lookups ??= this.#ports.source.lookups(
      columnsOf(this.#rules),
      digestSeed(this.#rules),
      this.#stop,
      this.#table,
    );
    return tenantsById(await (await this.#lookups).rowsOf(ids), this.#rules);
  }
}

interface Lookup {
  /** On the monotonic clock, in milliseconds. */
  readonly at: number;
  readonly ids: ReadonlySet<string>;
  readonly tenants: Promise<ReadonlyMap<string | null, Tenant>>;
}
