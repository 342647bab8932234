import type { Forgotten } from "../../engine/forget.ts";
import type { Forgetting } from "./forget-text.ts";

/** The object of `forget --json`. `forgotten` is undefined if nothing was to be changed yet. */
export function forgetJson(
  { overview, deletesGroups }: Forgetting,
  forgotten: Forgotten | undefined,
): string {
  const { name, existing, groups, service, destinations, runs, lease } = overview;
  const [last] = runs;
  const object = {
    scope: name,
    forgotten: forgotten?.isForgotten ?? false,
    groups: existing,
    under_way: groups.under_way,
    service: { base_url: service.baseUrl, team_id: service.teamId },
    tokens: destinations,
    last_run: last ? { command: last.command, started_at: last.startedAt } : null,
    lease: lease && { holder: lease.holder, acquired_at: lease.acquiredAt, expires_at: lease.expiresAt },
    delete_groups: deletesGroups,
    deleted: forgotten?.report.counts.deleted ?? 0,
    failed: forgotten?.report.counts.failed ?? 0,
    requests: forgotten?.report.requests ?? 0,
    free: forgotten?.free ?? [],
    errors: forgotten?.report.errors ?? [],
  };
  return `${JSON.stringify(object)}\n`;
}
