import { printable, printableId, toldText } from "../../core/text/printable.ts";
import type { Explanation } from "../../engine/explain/explain-tenant.ts";
import { isTold, type Line, LONGEST, type NamedValue, sectionsOf } from "../../engine/explain/sections.ts";
import { type State, standingOf } from "../../engine/explain/standing.ts";
import { type Paint, painter } from "./colours.ts";
import { failureText } from "./plan-text.ts";

const COLOURS: Partial<Record<State, Parameters<Paint>[0]>> = {
  in_sync: "green",
  rejected: "red",
  failing: "red",
  token_not_stored: "red",
  store_unreadable: "red",
  rotation_failing: "red",
  held: "yellow",
  missing: "yellow",
  deletion_due: "yellow",
};

/** One tenant on one page: how it stands and what helps, then its row, its group, its token and its past. */
export function explainText(explanation: Explanation, colours: boolean): string {
  const paint = painter(colours);
  const { explained, failures } = explanation;
  const { state, reason, advice, command } = standingOf(explained);
  const title = `${printableId(explained.user_group_id, LONGEST)}: ${state.replaceAll("_", " ")}`;
  const colour = COLOURS[state];
  const lines = [
    colour === undefined ? title : paint(colour, title),
    `  ${printable(toldText(reason), LONGEST)}`,
    ...(advice === null ? [] : [`  ${printable(advice, LONGEST)}`]),
    ...(command === null ? [] : [`  ${advice === null ? "what helps" : "then"}: ${paint("bold", command)}`]),
    ...sectionsOf(explanation).flatMap(({ title, lines }) => {
      const width = Math.max(...lines.filter(isValue).map(({ name }) => name.length));
      return ["", title, ...lines.map((line) => `  ${lineText(line, width, paint)}`)];
    }),
    ...(failures.length > 0 ? ["", ...failures.map((failure) => failureText(failure, paint))] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function lineText(line: Line, width: number, paint: Paint): string {
  if (isTold(line)) return toldText(line);
  if ("at" in line) return `${line.at.toISOString()}  ${toldText(line.what)}`;
  const { name, value, confirmed } = line;
  const mark = confirmed === undefined ? "" : confirmed === null ? "  " : "~ ";
  const before = typeof confirmed === "string" ? paint("yellow", `  the service confirmed ${confirmed}`) : "";
  return `${mark}${name.padEnd(width)}  ${value}${before}`;
}

const isValue = (line: Line): line is NamedValue => !isTold(line) && "name" in line;
