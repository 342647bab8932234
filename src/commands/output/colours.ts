import { styleText } from "node:util";
import type { Tone } from "../../core/report/incidents.ts";
import type { Fact } from "../../core/report/sections.ts";
import { plainText } from "../../core/text/printable.ts";

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Styles a text if colours are wanted, and returns it as it is otherwise. */
export const painter = (colours: boolean): Paint =>
  colours ? (style, text) => styleText(style, text) : (_, text) => text;

const COLOURS = { good: "green", busy: null, idle: null, attention: "yellow", bad: "red" } as const;

export const inTone = (paint: Paint, tone: Tone, text: string): string => {
  const colour = COLOURS[tone];
  return colour === null ? text : paint(colour, text);
};

/** A longer label pushes its own value to the right, and no other. */
const WIDEST_LABEL = 40;

/** Facts below each other, a line each. */
export function factLines(facts: readonly Fact[], paint: Paint): string[] {
  const width = Math.min(WIDEST_LABEL, Math.max(0, ...facts.map(({ label }) => label.length)));
  return facts.map(({ label, value, details = "", tone = "idle" }) => {
    const more = plainText(details);
    const said = inTone(
      paint,
      tone === "good" ? "idle" : tone,
      `${plainText(value)}${more === "" ? "" : `; ${more}`}`,
    );
    return `${label.padEnd(width)}  ${said}`;
  });
}
