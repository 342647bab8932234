/** Words for people, with times in between. Whoever shows them writes every time in the same way. */
export type Told = string | readonly (string | Date)[];

/** With times in ISO 8601. */
export const toldText = (told: Told): string =>
  typeof told === "string"
    ? told
    : told.map((part) => (typeof part === "string" ? part : part.toISOString())).join("");

/** A message as a sentence: with a capital letter and an end. Empty if the message is. */
export const asSentence = (text: string): string =>
  text === "" ? "" : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.?!…]$/.test(text) ? "" : "."}`;
