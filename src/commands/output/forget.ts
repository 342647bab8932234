import { leaseText } from "../../core/report/sections.ts";
import { plainText, printable, shellWord } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { Forgotten } from "../../engine/forget.ts";
import type { ScopeOverview } from "../../engine/scope/scope.ts";
import { errorLines, LONGEST_REASON, leaseJson, withHint } from "./attention.ts";
import { painter } from "./colours.ts";

/** What the operator wants to have forgotten, and how. */
export interface Forgetting {
  readonly overview: ScopeOverview;
  /** Whether the config is that of the scope: then the scope's tokens can be reached. */
  readonly isOwn: boolean;
  readonly deletesGroups: boolean;
}

/** What the ledger keeps of a scope, and what stays behind if it is forgotten. */
export function overviewText(plan: Forgetting): string {
  const { name, existing, underWay, service, destinations, lastRun: last, lease } = plan.overview;
  const lines = [
    `Scope ${JSON.stringify(name)}`,
    "",
    `Groups    ${existing}`,
    ...(underWay > 0 ? [`Under way ${underWay}: nobody knows yet how far their last changes came`] : []),
    `Service   ${service.baseUrl === null ? "not known" : `${printable(service.baseUrl)}, team ${service.teamId ?? "not known"}`}`,
    `Tokens    ${destinations.map((place) => printable(place)).join(", ") || "in a place that the ledger doesn't know"}`,
    `Last run  ${last === undefined ? "none" : `${last.command}, ${last.startedAt.toISOString()}, ${last.result?.outcome ?? "not ended"}`}`,
    `Lease     ${plainText(leaseText({ lease }, null))}${lease === null ? "" : ": has to be stopped first"}`,
    "",
    ...consequences(plan),
  ];
  return textOf(lines);
}

function consequences({ overview, isOwn, deletesGroups }: Forgetting): string[] {
  const { existing, underWay } = overview;
  if (deletesGroups)
    return [
      `Forgetting it with --delete-groups deletes ${existing === 1 ? "this group" : `these ${quantity(existing, "group")}`} at the service, without a grace period or a limit,`,
      "and their tokens where they are stored. Then the ledger forgets the scope, with its history.",
    ];
  return [
    "Forgetting it takes its groups, tokens' fingerprints and history out of the ledger. What stays:",
    `  the groups at the service${underWay > 0 ? ", those under way as far as they came" : ""}`,
    "  their tokens where they are stored; they go on working",
    ...(isOwn ? [] : ["  the owner's marks beside the tokens, because this is not the scope's own config"]),
    "Nobody deletes these groups afterwards. --delete-groups deletes them first.",
  ];
}

/** For an operator who has not confirmed it. */
export const howToForget = ({ overview: { name }, deletesGroups }: Forgetting): string =>
  `Nothing was changed. To forget it: groupsync forget ${shellWord(name)}${deletesGroups ? " --delete-groups" : ""} --yes\n`;

/** What has become of the scope. */
export function forgottenText(
  plan: Forgetting,
  { report, isForgotten, free }: Forgotten,
  colours: boolean,
): string {
  const paint = painter(colours);
  const { overview, isOwn, deletesGroups } = plan;
  const { counts, requests, errors, error } = report;
  const name = JSON.stringify(overview.name);
  const deleted = deletesGroups
    ? [`  ${quantity(counts.deleted, "group")} deleted; ${quantity(requests, "request")}`]
    : [`  ${quantity(overview.existing, "group")} left at the service`];
  if (!isForgotten) {
    const why = error?.message ?? `${quantity(counts.failed, "group")} could not be deleted`;
    const title = `The scope ${name} is not forgotten: ${printable(why, LONGEST_REASON)}`;
    return textOf([
      withHint(paint(error ? "red" : "yellow", title), error?.hint),
      ...deleted,
      ...errorLines(errors.filter(({ message }) => message !== error?.message)),
      "  what is left stays in the ledger; run the same command again to go on",
    ]);
  }
  return textOf([
    paint("green", `The scope ${name} is forgotten`),
    ...deleted,
    ...free.map((title) => `  ${printable(title)} can be used by another config now`),
    ...(isOwn
      ? []
      : ["  another config that wants the place of its tokens is told how to take the owner's mark away"]),
  ]);
}

const textOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

/** The object of `forget --json`. `forgotten` is undefined if nothing was to be changed yet. */
export function forgetJson(
  { overview, deletesGroups }: Forgetting,
  forgotten: Forgotten | undefined,
): string {
  const { name, existing, underWay, service, destinations, lastRun: last, lease } = overview;
  const object = {
    scope: name,
    forgotten: forgotten?.isForgotten ?? false,
    groups: existing,
    under_way: underWay,
    service: { base_url: service.baseUrl, team_id: service.teamId },
    tokens: destinations,
    last_run: last ? { command: last.command, started_at: last.startedAt } : null,
    lease: leaseJson(lease),
    delete_groups: deletesGroups,
    deleted: forgotten?.report.counts.deleted ?? 0,
    failed: forgotten?.report.counts.failed ?? 0,
    requests: forgotten?.report.requests ?? 0,
    free: forgotten?.free ?? [],
    errors: forgotten?.report.errors ?? [],
  };
  return `${JSON.stringify(object)}\n`;
}
