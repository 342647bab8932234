import { closestMatch } from "leven";
import { z } from "zod";
import { isRecord } from "./section.ts";

/**
 * A section whose keys depend on what one of them says. Where that is left out it counts as `otherwise`; where it says
 * nothing that is known, the other keys are not checked at all.
 */
export const variant = <Sections extends Readonly<Record<string, z.ZodType>>>(
  key: string,
  otherwise: keyof Sections & string,
  sections: Sections,
) =>
  optional.transform((value, context) => {
    const kinds = Object.keys(sections);
    if (!isRecord(value)) {
      const remedy = `put its keys below it, each with a space after its colon: ${key}: ${kinds.join(" or ")}, and what goes with that`;
      context.addIssue({ code: "custom", message: `{secret} is not a section; ${remedy}` });
      return z.NEVER;
    }
    const kind = value[key] === undefined ? otherwise : value[key];
    if (typeof kind !== "string" || !Object.hasOwn(sections, kind)) {
      const close = typeof kind === "string" ? closeTo(kind.toLowerCase(), kinds) : undefined;
      const remedy = close === undefined ? `write ${kinds.join(" or ")}` : `did you mean ${close}?`;
      context.addIssue({ code: "custom", path: [key], message: `{value} is not possible here; ${remedy}` });
      return z.NEVER;
    }
    return parse(sections[kind] ?? z.never(), value, [], context) as z.output<Sections[keyof Sections]>;
  });

const closeTo = (text: string, kinds: readonly string[]): string | undefined =>
  text === ""
    ? undefined
    : (kinds.find((kind) => kind.startsWith(text)) ?? closestMatch(text, kinds, { maxDistance: 2 }));

/** One of these, or a list of them. */
export const oneOrMore = <Schema extends z.ZodType>(schema: Schema) =>
  optional.transform((value, context): z.output<Schema> | z.output<Schema>[] => {
    if (!Array.isArray(value)) return parse(schema, value, [], context);
    if (value.length > 0)
      return value.map((entry, index) => {
        if (entry !== null) return parse(schema, entry, [index], context);
        context.addIssue({ code: "custom", path: [index], message: EMPTY_ENTRY });
        return z.NEVER;
      });
    context.addIssue({ code: "custom", message: "is an empty list; leave it out, or name one or more" });
    return z.NEVER;
  });

const EMPTY_ENTRY = "is an empty entry; write its keys behind the dash, or remove it";

/** A section without a required key can be left out. */
const optional = z.preprocess((value) => value ?? {}, z.unknown());

/** Its issues become those of the section around it. */
function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  path: readonly PropertyKey[],
  context: z.RefinementCtx,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    context.addIssue({ code: "custom", path: [...path, ...issue.path], message: issue.message });
  }
  return z.NEVER;
}
