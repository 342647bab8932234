import { describeHeldRemovals } from "../../core/deletion/removals.ts";
import { describeHeldRefresh } from "../../core/drift/refresh.ts";
import { remedyOf } from "../../core/failure/error-codes.ts";
import type { RejectionCode } from "../../core/group/tenant.ts";
import { type DeletionPolicy, removalsAllowed } from "../../core/plan/deletion-policy.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import { printableId } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import { missingCount, type Plan } from "../plan/plan.ts";
import { type ForecastSetup, forecastNumbers, forecastSync, type SyncForecast } from "./sync-forecast.ts";

/**
 * What a sync would do now, and warn of, and the rows that it would reject. Why it would fail, the checks of the ledger and
 * the tokens say.
 */
export async function* planFindings(setup: ForecastSetup, stop: AbortSignal): AsyncGenerator<Finding> {
  const forecast = await forecastSync(setup, undefined, stop);
  const { plan, refresh, warnings } = forecast;
  try {
    yield numbersFinding(
      forecast,
      setup.settings.deletion,
      (await setup.ports.ledger.sums({ kind: "existing" })).counts.total,
    );
    yield* rowFindings(plan);
    if (refresh?.hold) yield asFinding("warning", describeHeldRefresh(refresh.hold, refresh.due));
    // The check of the source tells what stands whatever the plan is.
    for (const warned of warnings) if (!warned.isStanding) yield asFinding("warning", warned);
  } finally {
    plan.entries.close();
  }
}

function numbersFinding(forecast: SyncForecast, { limit }: DeletionPolicy, owned: number): Finding {
  const { plan } = forecast;
  const message = `a sync has ${forecastNumbers(forecast) ?? `nothing to do, ${plan.unchanged} unchanged`}`;
  if (plan.guard.kind !== "allowed") {
    const held = describeHeldRemovals(plan.guard);
    return asFinding("warning", { ...held, message: `${message}; ${held.message}` });
  }
  const allowed = removalsAllowed(limit, owned);
  if (missingCount(plan) <= allowed) return ok(message);
  return warning(
    `${message}; deletion.limit lets ${allowed} of ${quantity(owned, "group")} go in 24 hours`,
    "look at the source first: are the missing tenants really gone? groupsync plan names them",
  );
}

/** More reasons are no list that somebody reads. */
const SHOWN_REASONS = 10;
const SHOWN_IDS = 3;
const UNTIL_THEN = "until then their groups stay as they are, and new ones get none";

/** The rejected rows, by their reasons. */
async function* rowFindings({ entries, conclusive, guard, sourceTable }: Plan): AsyncGenerator<Finding> {
  // If groups are kept because of this, the numbers have said so.
  if (!conclusive && guard.kind === "allowed")
    yield warning(
      `${sourceTable ?? "source.query"} has no row that gives a group`,
      `check the url, and ${sourceTable === null ? "source.query" : "source.where"}: from such a source a sync makes no group, and deletes none without approval`,
    );
  const rejected = new Map<string, { readonly code: RejectionCode; readonly ids: string[]; count: number }>();
  for await (const batch of entries.read()) {
    for (const entry of batch) {
      if (entry.kind !== "rejected") continue;
      const { user_group_id, code, message } = entry;
      const reason = rejected.get(message) ?? { code, ids: [], count: 0 };
      rejected.set(message, reason);
      reason.count++;
      if (reason.ids.length < SHOWN_IDS) reason.ids.push(printableId(user_group_id));
    }
  }
  const reasons = [...rejected].sort(([, a], [, b]) => b.count - a.count);
  for (const [message, { code, ids, count }] of reasons.slice(0, SHOWN_REASONS)) {
    const shown = [...ids, ...(count > ids.length ? ["…"] : [])].join(", ");
    yield warning(
      `${quantity(count, "row")} rejected (${code}): ${message}: ${shown}`,
      `${remedyOf(code)}; ${UNTIL_THEN}`,
    );
  }
  const others = reasons.slice(SHOWN_REASONS).reduce((sum, [, { count }]) => sum + count, 0);
  if (others > 0) yield warning(`${quantity(others, "more row")} rejected for other reasons`, UNTIL_THEN);
}
