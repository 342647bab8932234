import { UnnoticedChanges } from "../../core/changes/unnoticed-changes.ts";
import type { Log } from "../../ports/log.ts";
import type { RunEvent } from "../../ports/observer.ts";

/** Warns, once for a config, if full syncs find changes of tenants that nobody has noticed. */
export class UnnoticedWarning {
  readonly #log: Log;
  #changes: UnnoticedChanges | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Call this for a new config, which may change all groups. `isNoticing`: it names a way to notice tenants. */
  begin(isNoticing: boolean): void {
    this.#changes = isNoticing ? new UnnoticedChanges() : undefined;
  }

  noticed(id: string): void {
    this.#changes?.noticed(id);
  }

  /** Takes the events of full syncs. */
  observe(event: RunEvent): void {
    if (event.kind === "recorded") this.#changes?.changed(event.user_group_id);
    if (event.kind !== "started") return;
    const ids = this.#changes?.syncBegins() ?? [];
    if (ids.length === 0) return;
    this.#changes = undefined;
    this.#log({
      level: "warn",
      code: "CHANGES_NOT_NOTICED",
      message: `a full sync has found changes that source.changes didn't name, such as those of tenant ${JSON.stringify(ids[0])}: ${ids.length} in one sync`,
      hint: "each insert and update has to move the column, or to notify the channel; else tenants wait for the full sync. See docs/new-tenants.md",
    });
  }
}
