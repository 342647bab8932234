import { closestMatch } from "leven";
import { z } from "zod";

/**
 * Yields what is wrong between the keys of a section: the key to blame (`key` or `key.key`), and what would be right.
 * The values are as their own schemas left them: read where they were right, anything at all where they were not.
 */
export type KeyRule = (
  keys: Readonly<Record<string, unknown>>,
) => Iterable<readonly [key: string, message: string]>;

/**
 * A map with these keys and no others. One that is left out, or has nothing below it, counts as an empty map.
 *
 * zod skips the refinements of an object in which something has the wrong type, and gathers unknown keys in one
 * issue. Here the rule always runs and every unknown key is an issue of its own, so that one report has it all.
 */
export const section = <Shape extends z.ZodRawShape>(shape: Shape, rule: KeyRule = () => []) => {
  const keys = Object.keys(shape);
  return z.preprocess(
    (value) => value ?? {},
    z
      .object(shape, {
        error: `{secret} is not a section; put its keys below it, each with a space after its colon: ${keys.join(", ")}`,
      })
      .catchall(
        z.custom<unknown>(() => false, { abort: false, error: ({ path }) => unknownKey(path?.at(-1), keys) }),
      )
      .superRefine(
        (value, context) => {
          if (!isRecord(value)) return;
          for (const [key, message] of rule(value)) {
            context.addIssue({ code: "custom", path: key.split("."), message });
          }
        },
        { when: () => true },
      ),
  );
};

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function unknownKey(key: PropertyKey | undefined, known: readonly string[]): string {
  const text = String(key);
  if (text.includes(":")) return "unknown key; is a space missing after the colon?";
  const close = closestMatch(text, known, { maxDistance: Math.max(2, Math.floor(text.length / 3)) });
  return `unknown key; ${close === undefined ? `the keys here are ${known.join(", ")}` : `did you mean "${close}"?`}`;
}
