import { styleText } from "node:util";
import type { Tone } from "../../core/report/card.ts";

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Styles a text if colours are wanted, and returns it as it is otherwise. */
export const painter = (colours: boolean): Paint =>
  colours ? (style, text) => styleText(style, text) : (_, text) => text;

const COLOURS = { good: "green", busy: null, idle: null, attention: "yellow", bad: "red" } as const;

export const inTone = (paint: Paint, tone: Tone, text: string): string => {
  const colour = COLOURS[tone];
  return colour === null ? text : paint(colour, text);
};
