import * as z from "zod";

/**
 * The message for a value that is missing or wrong. The loader replaces `{value}` and `{secret}` by the text of the
 * file, and `{line of KEY.KEY}` by the line of another value: a schema sees what `${…}` became, which must not be
 * shown.
 */
export interface Requirement {
  readonly error: (issue: { readonly input?: unknown }) => string;
}

/** `what` is the end of “… is not”, `remedy` says what would be right. */
export const mustBe = (
  what: string,
  remedy: string,
  subject: "{value}" | "{secret}" = "{value}",
): Requirement => ({
  error: ({ input }) => `${input === undefined ? "is missing" : `${subject} is not ${what}`}; ${remedy}`,
});

/** Text that `parse` turns into a value. `parse` returns undefined for text that is wrong. */
export const parsedText = <T>(parse: (text: string) => T | undefined, { error }: Requirement) =>
  z.string({ error }).transform((input, context) => {
    const value = parse(input);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message: error({ input }) });
    return z.NEVER;
  });

export const choice = <const Option extends string>(...options: readonly Option[]) =>
  z.enum(options, mustBe("possible here", `write ${options.join(" or ")}`));

/** A decimal number as YAML writes it. */
const NUMBER = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;

/** A number, also as text, because a `${…}` gives text. */
export const number = (schema: (requirement: Requirement) => z.ZodType<number>, requirement: Requirement) =>
  z.preprocess(
    (value) => (typeof value === "string" && NUMBER.test(value) ? Number(value) : value),
    schema(requirement),
  );

/** A boolean, also as text, because a `${…}` gives text. */
export const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(mustBe("true or false", "write true or false")),
);
