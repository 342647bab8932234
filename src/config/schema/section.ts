import { closestMatch } from "leven";
import * as z from "zod";

// A config is read once or twice. To generate code for each section, as zod does by default, takes longer.
z.config({ jitless: true });

/**
 * Yields what is wrong between the keys of a section: the key to blame (`key` or `key.key`), and what would be right.
 * A value that its own schema accepts is parsed. A value that its own schema refuses can be anything.
 */
export type CrossCheck = (
  keys: Readonly<Record<string, unknown>>,
  /** Whether the schemas accept the value at this path and everything in it. */
  isRight: (...path: readonly PropertyKey[]) => boolean,
) => Iterable<readonly [key: string, message: string]>;

/**
 * A map with these keys and no others. The error for unknown keys has one line for each of them, in their order. Zod
 * skips a check if a value has the wrong type. `when` makes this check run anyway, because one report has all problems.
 */
export const strictKeys = <Shape extends z.ZodRawShape>(shape: Shape, check: CrossCheck = () => []) => {
  const known = Object.keys(shape);
  return z
    .strictObject(shape, {
      error: (issue) =>
        issue.code === "unrecognized_keys"
          ? issue.keys.map((key) => unknownKey(key, known)).join("\n")
          : notASection(known.join(", ")),
    })
    .superRefine(
      (value, context) => {
        if (!isRecord(value)) return;
        const isRight = (...path: readonly PropertyKey[]) =>
          !context.issues.some((issue) => path.every((key, index) => issue.path?.[index] === key));
        for (const [key, message] of check(value, isRight)) {
          context.addIssue({ code: "custom", path: key.split("."), message });
        }
      },
      { when: () => true },
    );
};

/** A section of the file with keys that are required. With nothing below its name it is an empty map. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape, check?: CrossCheck) =>
  z.preprocess((value) => value ?? {}, strictKeys(shape, check));

/** A section that may be left out. */
export const optionalSection = <Shape extends z.ZodRawShape>(shape: Shape, check?: CrossCheck) => {
  const present = section(shape, check);
  return present.prefault({}) as unknown as typeof present;
};

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The error of a discriminated union of sections. `key` says which of the `kinds` a section is. */
export const choiceOfSection = (key: string, kinds: readonly string[]) => ({
  error: ({ code, input }: { readonly code?: string; readonly input?: unknown }): string => {
    if (input === null) return "is an empty entry; write its keys behind the dash, or remove it";
    if (code !== "invalid_union" || !isRecord(input)) {
      return notASection(`${key}: ${kinds.join(" or ")}, and what goes with that`);
    }
    const kind = input[key];
    const close = typeof kind === "string" ? closestKind(kind.toLowerCase(), kinds) : undefined;
    const remedy = close === undefined ? `write ${kinds.join(" or ")}` : `did you mean ${close}?`;
    return `{value} is not possible here; ${remedy}`;
  },
});

const notASection = (keys: string): string =>
  `{secret} is not a section; put its keys below it, each with a space after its colon: ${keys}`;

const closestKind = (text: string, kinds: readonly string[]): string | undefined =>
  text === ""
    ? undefined
    : (kinds.find((kind) => kind.startsWith(text)) ?? closestMatch(text, kinds, { maxDistance: 2 }));

/** The name that is so close that it may be meant. */
export const closest = (name: string, known: readonly string[]): string | undefined =>
  closestMatch(name, known, { maxDistance: Math.max(2, Math.floor(name.length / 3)) });

function unknownKey(key: string, known: readonly string[]): string {
  if (key.includes(":")) return "unknown key; is a space missing after the colon?";
  const close = closest(key, known);
  return `unknown key; ${close === undefined ? `the keys here are ${known.join(", ")}` : `did you mean "${close}"?`}`;
}
