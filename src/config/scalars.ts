import { z } from "zod";

/**
 * The message for a value that is missing or wrong. `{value}` and `{secret}` are filled in by the loader
 * with what stands in the file: a schema sees what `${…}` became, which must not be shown. `{line of KEY.KEY}`
 * becomes the line of another value.
 */
export interface Wanted {
  readonly error: (issue: { readonly input?: unknown }) => string;
}

/** `what` is the end of “… is not”, `remedy` says what would be right. */
export const wanted = (
  what: string,
  remedy: string,
  subject: "{value}" | "{secret}" = "{value}",
): Wanted => ({
  error: ({ input }) => `${input === undefined ? "is missing" : `${subject} is not ${what}`}; ${remedy}`,
});

/** Text that `read` turns into a value, or into undefined where it is wrong. */
export const scalar = <T>(read: (text: string) => T | undefined, { error }: Wanted) =>
  z.string({ error }).transform((input, context) => {
    const value = read(input);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message: error({ input }) });
    return z.NEVER;
  });

export const choice = <const Option extends string>(...options: readonly Option[]) =>
  z.enum(options, wanted("possible here", `write ${options.join(" or ")}`));

/** A decimal number as YAML writes it. */
const NUMBER = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;

/** Also as text, for what comes out of a `${…}`. */
export const number = (schema: (want: Wanted) => z.ZodType<number>, want: Wanted) =>
  z.preprocess(
    (value) => (typeof value === "string" && NUMBER.test(value) ? Number(value) : value),
    schema(want),
  );

export const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(wanted("true or false", "write true or false")),
);
