import { type Circumstances, clearanceOf } from "../core/clearance.ts";
import type { Decision } from "../core/decide.ts";
import type { LedgerGroup } from "../core/ledger-group.ts";
import type { Note } from "../core/note.ts";
import type { RemovalTally } from "../core/removal-tally.ts";
import type { Tenant } from "../core/tenant.ts";
import type { Spool } from "../ports/spool.ts";
import type { LeftUnderWay, Plan, PlanEntry } from "./plan.ts";

const NOTHING: Plan["counts"] = {
  create: 0,
  update: 0,
  replace: 0,
  delete: 0,
  waiting: 0,
  missing: 0,
  gone: 0,
  outdated: 0,
  rejected: 0,
  left: 0,
  returned: 0,
  forgotten: 0,
  settled: 0,
};

/** Puts a plan together while the source and the ledger are walked through. */
export class PlanBuilder {
  readonly #entries: Spool<PlanEntry>;
  readonly #removals: RemovalTally;
  readonly #counts = { ...NOTHING };
  readonly #leftUnderWay: LeftUnderWay[] = [];
  #unchanged = 0;
  #owned = 0;
  #conclusive = false;

  constructor(entries: Spool<PlanEntry>, removals: RemovalTally) {
    this.#entries = entries;
    this.#removals = removals;
  }

  /** So many rows are just what the ledger has recorded. */
  addUnchanged(rows: number): void {
    this.#unchanged += rows;
    this.#owned += rows;
    this.#conclusive ||= rows > 0;
  }

  /** What either side has of an id, whether or not anything is decided on it. */
  see(tenant: Tenant | undefined, group: LedgerGroup | undefined): void {
    if (group !== undefined) {
      this.#owned++;
      this.#removals.see(group);
    }
    if (tenant !== undefined && tenant.kind !== "rejected") this.#conclusive = true;
  }

  /** What is to be done about an id, and what is to be noted of it. */
  add(tenant: Tenant | undefined, decided: Decision | null, note: Note | null): void {
    if (decided === null && tenant?.kind === "desired") this.#unchanged++;
    if (decided !== null) {
      this.#append(decided);
      this.#removals.add(decided);
    }
    if (note !== null) this.#append(note);
  }

  /** What is under way in this group is settled by nothing that was decided. A run leaves few of them. */
  leaveUnderWay({ user_group_id, failure }: LedgerGroup): void {
    this.#leftUnderWay.push({ user_group_id, failure });
  }

  /** Nothing can be added afterwards. */
  build(
    known: Pick<Plan, "reading" | "isWhole" | "sourceTable" | "warnings">,
    circumstances: Omit<Circumstances, "conclusive" | "owned">,
  ): Plan {
    const removals = this.#removals.summary();
    const conclusive = this.#conclusive;
    return {
      entries: this.#entries,
      counts: this.#counts,
      unchanged: this.#unchanged,
      leftUnderWay: this.#leftUnderWay,
      conclusive,
      ...known,
      removals,
      clearance: clearanceOf(removals, { ...circumstances, conclusive, owned: this.#owned }),
    };
  }

  #append(entry: PlanEntry): void {
    this.#counts[entry.kind]++;
    this.#entries.append(entry);
  }
}
