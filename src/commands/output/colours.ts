import { styleText } from "node:util";

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Styles a text if colours are wanted, and returns it as it is otherwise. */
export const painter = (colours: boolean): Paint =>
  colours ? (style, text) => styleText(style, text) : (_, text) => text;
