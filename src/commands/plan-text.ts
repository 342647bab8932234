import type { FieldChange } from "../core/diff.ts";
import type { Json } from "../core/json.ts";
import { printable, printableId } from "../core/printable.ts";
import type { Plan } from "../engine/plan.ts";
import type { LedgerView } from "../ports/ledger.ts";
import { counted } from "./counted.ts";
import { type Paint, painter } from "./paint.ts";
import { type PlanLine, planLines } from "./plan-lines.ts";

/**
 * Writes the plan for people: + for a create, ~ for an update with old → new, - for a tenant that is gone,
 * = for a change that is left alone, ! for what needs attention.
 */
export async function writePlanText(
  plan: Plan,
  ledger: LedgerView,
  write: (text: string) => void,
  colours: boolean,
): Promise<void> {
  const paint = painter(colours);
  let any = false;
  for await (const line of planLines(plan, ledger)) {
    for (const text of linesOf(line, paint)) {
      write(`${text}\n`);
      any = true;
    }
  }
  write(`${any ? "\n" : ""}${summary(plan, paint)}\n`);
}

function linesOf({ entry, changes }: PlanLine, paint: Paint): string[] {
  const id = printableId(entry.user_group_id);
  switch (entry.kind) {
    case "create": {
      const note = entry.underWay ? paint("dim", "  (begun by an earlier run)") : "";
      return [`${paint("green", "+")} ${id}  ${paint("dim", quoted(entry.group.name))}${note}`];
    }
    case "update": {
      const note = entry.underWay
        ? "begun by an earlier run"
        : "sent again: the ledger can't tell what the service holds";
      const details = changes?.length
        ? changes.map((change) => changeText(change, paint))
        : [paint("dim", note)];
      return [`${paint("yellow", "~")} ${id}`, ...details.map((detail) => `    ${detail}`)];
    }
    case "missing":
      return [`${paint("red", "-")} ${id}  ${paint("dim", "its tenant is gone; noted, not deleted")}`];
    case "outdated":
      return [`${paint("cyan", "=")} ${id}  ${paint("dim", "changed, but service.update is never")}`];
    case "rejected":
      return [`${paint("red", "!")} ${id}  rejected: ${printable(entry.message)}`];
    case "waiting":
      return [
        `${paint("red", "!")} ${id}  ${entry.code}: ${printable(entry.message)}; next try after ${entry.retryAt}`,
      ];
    case "returned":
    case "settled":
      return [];
  }
}

function changeText({ field, from, to }: FieldChange, paint: Paint): string {
  const old = from === undefined ? paint("dim", "(none)") : paint("red", quoted(from));
  const next = to === undefined ? paint("dim", "(none)") : paint("green", quoted(to));
  return `${printable(field)}: ${old} → ${next}`;
}

const quoted = (value: Json): string => printable(JSON.stringify(value), 80);

function summary({ counts, unchanged }: Plan, paint: Paint): string {
  const changes = counts.create + counts.update;
  const extras = [
    [counts.missing, "missing"],
    [counts.outdated, "outdated"],
    [counts.waiting, "waiting for the next try"],
    [counts.rejected, "rejected"],
  ] as const;
  const more = extras.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []));
  if (changes + more.length === 0)
    return paint("green", `Nothing to do: ${counted(unchanged, "group")} in sync.`);
  const parts = [
    `${counts.create} to create`,
    `${counts.update} to update`,
    "0 to delete",
    `${unchanged} unchanged`,
  ];
  return `${paint("bold", "Plan:")} ${[...parts, ...more].join(", ")}.`;
}
