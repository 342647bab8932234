import {
  type Card,
  type ConcernedItem,
  type Fact,
  helpOf,
  MOST_SHOWN,
  paragraphsOf,
  type View,
} from "../../core/report/card.ts";
import { plainText, printable, withConfig } from "../../core/text/printable.ts";
import { LONGEST_REASON, type Names, remedyLines, tenantText } from "./attention.ts";
import { inTone, type Paint } from "./colours.ts";

/** What all lines of a view need to know. */
interface LineContext {
  readonly paint: Paint;
  readonly configPath: string;
  readonly names: Names;
}

/** A view for a terminal: its cards, then its facts. */
export const viewLines = ({ cards, sections }: View, context: LineContext): string[] => [
  ...cards.flatMap((card, index) => [...(index > 0 ? [""] : []), ...cardLines(card, context)]),
  ...sections.flatMap(({ title, facts }) => ["", title, ...factLines(facts, context.paint)]),
];

function cardLines(card: Card, { paint, configPath, names }: LineContext): string[] {
  const { tone, sentence, concerned } = card;
  const { whom = "", items = [], more = 0 } = concerned ?? {};
  return [
    inTone(paint, tone, printable(sentence, LONGEST_REASON)),
    ...paragraphsOf(card, configPath).map((text) => `  ${printable(plainText(text), LONGEST_REASON)}`),
    ...(whom === "" ? [] : [`  ${whom}${items.length > 0 ? ":" : ""}`]),
    ...items.map((item) => `    ${itemLine(item, names)}`),
    ...(more > 0 ? [`    … and ${more} more`] : []),
    ...remedyLines(items.flatMap(({ failure }) => failure ?? [])).map((line) => withConfig(line, configPath)),
    ...helpOf(card, configPath).map(({ when, command }) => `  ${when}: ${paint("bold", command)}`),
  ];
}

/** What, whom, why. */
function itemLine({ label, count, tenants, failure, note = "" }: ConcernedItem, names: Names): string {
  const shown = tenants.slice(0, MOST_SHOWN).map((id) => tenantText(id, names));
  const left = count - shown.length;
  const who = `${shown.join(", ")}${shown.length > 0 && left > 0 ? ` and ${left} more` : ""}`;
  const why = failure ? `${failure.code} (${plainText(note)}): ${printable(failure.message)}` : "";
  return [label, who, why].filter((part) => part !== "").join("  ");
}

/** A longer label pushes its own value to the right, and no other. */
const WIDEST_LABEL = 40;

/** Facts below each other, a line each. */
function factLines(facts: readonly Fact[], paint: Paint): string[] {
  const width = Math.min(WIDEST_LABEL, Math.max(0, ...facts.map(({ label }) => label.length)));
  return facts.map(({ label, value, details = "", tone = "idle" }) => {
    const more = plainText(details);
    const said = inTone(
      paint,
      tone === "good" ? "idle" : tone,
      `${plainText(value)}${more === "" ? "" : `; ${more}`}`,
    );
    return `  ${label.padEnd(width)}  ${said}`;
  });
}
