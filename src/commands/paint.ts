import { styleText } from "node:util";

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Paints where colours are wanted, and leaves the text alone where not. */
export const painter = (colours: boolean): Paint =>
  colours ? (style, text) => styleText(style, text) : (_, text) => text;
