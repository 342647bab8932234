import { closestMatch } from "leven";
import * as z from "zod";

// A config is read once or twice. To generate code for each section, as zod does by default, takes longer.
z.config({ jitless: true });

/** A map with these keys and no others. The error for unknown keys has one line for each of them, in their order. */
export const strictKeys = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => unknownKey(key, known)).join("\n")
        : notASection(known.join(", ")),
  });
};

/** A section of the file with keys that are required. With nothing below its name it is an empty map. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess((value) => value ?? {}, strictKeys(shape));

/** A section that may be left out. */
export const optionalSection = <Shape extends z.ZodRawShape>(shape: Shape) => section(shape).prefault({});

/** The error of a discriminated union of sections. `key` says which of the `kinds` a section is. */
export const choiceOfSection = (key: string, kinds: readonly string[]) => ({
  error: ({ code, input }: { readonly code?: string; readonly input?: unknown }): string => {
    if (input === null) return "is an empty entry; write its keys behind the dash, or remove it";
    if (code !== "invalid_union" || typeof input !== "object" || !(key in input)) {
      return notASection(`${key}: ${kinds.join(" or ")}, and what goes with that`);
    }
    const kind: unknown = Object.entries(input).find(([name]) => name === key)?.[1];
    const close = typeof kind === "string" ? closestKind(kind.toLowerCase(), kinds) : undefined;
    return `is not possible here; ${close === undefined ? `write ${kinds.join(" or ")}` : `did you mean ${close}?`}`;
  },
});

const notASection = (keys: string): string =>
  `is not a section; put its keys below it, each with a space after its colon: ${keys}`;

const closestKind = (text: string, kinds: readonly string[]): string | undefined =>
  text === ""
    ? undefined
    : (kinds.find((kind) => kind.startsWith(text)) ?? closestMatch(text, kinds, { maxDistance: 2 }));

function unknownKey(key: string, known: readonly string[]): string {
  if (key.includes(":")) return "unknown key; is a space missing after the colon?";
  const close = closestMatch(key, known, { maxDistance: Math.max(2, Math.floor(key.length / 3)) });
  return `unknown key; ${close === undefined ? `the keys here are ${known.join(", ")}` : `did you mean "${close}"?`}`;
}
