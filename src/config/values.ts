import { Cron } from "croner";
import { closestMatch } from "leven";
import * as z from "zod";
import { describe } from "../core/failure/sync-error.ts";
import { isTemplate } from "../core/group/group-rules.ts";
import { Secret } from "../core/secret/secret.ts";
import { parseDuration } from "../core/text/quantity.ts";
import { parseBaseUrl, parseDatabaseUrl, parseListenAddress, parseWebUrl, tlsProblems } from "./urls.ts";

// A config is read once or twice. To generate code for each section, as zod does by default, takes longer.
z.config({ jitless: true });

/**
 * The kinds of values that keys have, and of sections. A kind of value says `what` its values are and, as a `remedy`,
 * what would be right: the messages and the tables of docs/configuration.md have the same words. A key's declaration
 * adds its default and what the key means.
 */

export const HOUR_MS = 3_600_000;

/** The error for a value that is missing or wrong. `what` is the end of “is not …”. */
export const mustBe = (what: string, remedy: string) => ({
  error: ({ input }: { readonly input?: unknown }): string => {
    const state = input === undefined ? "is missing" : input === null ? "is empty" : `is not ${what}`;
    return `${state}; ${remedy}`;
  },
});

/** Text that `parse` turns into a value. `parse` returns undefined for text that is wrong. */
export function parsed<T>(what: string, remedy: string, parse: (text: string) => T | undefined) {
  const { error } = mustBe(what, remedy);
  const text = z.string({ error }).transform((input, context) => {
    const value = parse(input);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message: error({ input }) });
    return z.NEVER;
  });
  return text.meta({ what, remedy });
}

export const textLike = (pattern: RegExp, what: string, remedy: string) =>
  parsed(what, remedy, (text) => (pattern.test(text) ? text : undefined));

/** One line that is not empty. */
export const plainText = (what: string, remedy: string) => textLike(/^[^\p{Cc}]+$/u, what, remedy);

export const choice = <const Option extends string>(...options: readonly Option[]) =>
  z.enum(options, mustBe("possible here", `write ${options.join(" or ")}`));

/** A boolean, also as text, because a `${…}` gives text. */
export const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(mustBe("true or false", "write true or false")),
);

/** A decimal number as YAML writes it. */
const NUMBER = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;

/** A number, also as text, because a `${…}` gives text. */
const asNumber = (value: unknown): unknown =>
  typeof value === "string" && NUMBER.test(value) ? Number(value) : value;

export function wholeNumber(from: number, to = Number.MAX_SAFE_INTEGER) {
  const what = `a whole number from ${from} ${to === Number.MAX_SAFE_INTEGER ? "on" : `to ${to}`}`;
  const error = mustBe(what, "write one, or leave the key out");
  return z.preprocess(asNumber, z.int(error).min(from, error).max(to, error).meta({ what }));
}

export function percentage() {
  const what = "a number from 0 to 100";
  const error = mustBe(what, "write one, or leave the key out");
  return z.preprocess(asNumber, z.number(error).min(0, error).max(100, error).meta({ what }));
}

/** In milliseconds. A bare 0 is the one number that needs no unit. */
export function duration(what: string, example: string, fits: (ms: number) => boolean = () => true) {
  const text = parsed(what, `write it like ${example}`, (written) => {
    const ms = parseDuration(written);
    return ms !== undefined && fits(ms) ? ms : undefined;
  });
  return z
    .preprocess((value) => (value === 0 ? "0" : value), text)
    .meta({ type: ["string", "number"], example });
}

export const cronLine = z
  .string(mustBe("a cron line", 'write it like "*/5 * * * *"'))
  .superRefine((line, context) => {
    const pattern = cronPattern(line);
    if (typeof pattern === "string") {
      const message = `is not a cron line${pattern}; write minute, hour, day, month and weekday: "*/5 * * * *"`;
      context.addIssue({ code: "custom", message });
    } else if (pattern.nextRun() === null)
      context.addIssue({ code: "custom", message: "names a day that never comes" });
  })
  .meta({ what: "a cron line" });

/** The line as a pattern, or which of its fields is wrong. croner's own words would repeat the line, which may be a secret. */
function cronPattern(line: string): Cron | string {
  // croner takes a point in time, too.
  if (/^\s*\d{4}-/.test(line)) return "";
  try {
    return new Cron(line, { timezone: "UTC", paused: true });
  } catch (error) {
    const [, field] = /^CronPattern: Invalid value for (\w+):/.exec(describe(error)) ?? [];
    return field === undefined ? "" : ` (see its ${field})`;
  }
}

export const timeZone = parsed("a time zone", "write it like UTC or Europe/Berlin", (zone) => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return zone;
  } catch {
    return undefined;
  }
});

/** A secret that goes into an HTTP header unescaped: printable ASCII without spaces. */
const headerSecret = (what: string, remedy: string, shortest = 1) =>
  parsed(what, remedy, (text) =>
    /^[!-~]+$/.test(text) && text.length >= shortest ? new Secret(text) : undefined,
  );

export const apiKey = headerSecret(
  "an API key",
  `write \${GROUPSYNC_API_KEY}, and set it to the bare key, without the word Token`,
);

export const credential = headerSecret("a token or a key", `write \${file:/run/secrets/…} or \${NAME}`);

/** Long enough that nobody finds it by guessing. */
const SHORTEST_KEY = 16;

export const syncKey = headerSecret(
  `a key of at least ${SHORTEST_KEY} characters without blanks`,
  `make one with openssl rand -hex 32, and write \${file:/run/secrets/…} or \${NAME}`,
  SHORTEST_KEY,
);

export const databaseUrl = parsed(
  "the url of a database",
  "write it like postgres://user:password@host:5432/database or mysql://…, with %40 for an @, %2F for a / in the password",
  parseDatabaseUrl,
).superRefine((url, context) => {
  for (const message of tlsProblems(url)) context.addIssue({ code: "custom", message });
});

export const baseUrl = parsed(
  "the address of a service",
  "write it like https://dashboards.example.com, without user, query or /api/user",
  parseBaseUrl,
);

/** The address is secret: the path of a chat's incoming webhook holds its key. */
export const webUrl = parsed(
  "the address of a web page",
  "write it like https://hooks.example.com/services/T0/B0/x",
  parseWebUrl,
);

/** The address of a server, without user, query or a slash at its end. */
export const webAddress = (what: string, remedy: string, fits: (url: URL) => boolean = () => true) =>
  parsed(what, remedy, (text) => {
    const address = parseBaseUrl(text);
    return address !== undefined && fits(new URL(address)) ? address : undefined;
  });

export const listenAddress = parsed(
  "an address to listen on",
  'write it like 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080, or "off"',
  parseListenAddress,
);

export const hostName = textLike(
  /^[\w-]+(\.[\w-]+)*$/,
  "the name of a host",
  "write it like groupsync.internal, without scheme, port and path",
);

/** The path of a file or a directory. A `~` is refused, because only a shell replaces it. */
export const filePath = (what: string, example: string) =>
  textLike(/^(?!~)[^\p{Cc}]+$/u, what, `write its whole path, like ${example}`);

/** `table` or `schema.table`; each part may stand in double quotes. */
const TABLE = /^(?:(?:"(?:[^"]|"")+"|[\p{L}\p{N}_$-]+)(?:\.(?!$)|$)){1,2}$/u;
export const table = textLike(
  TABLE,
  "the name of a table",
  'write it like customers, app.customers or app."Customers"',
);

/** The name of a column as the database has it. The adapters quote it, so it may hold capitals and spaces. */
export const column = (remedy = "write the name of one column", what = "a column name") =>
  parsed(what, remedy, (text) =>
    text === "" || text.trim() !== text || isTemplate(text) ? undefined : text,
  );

/** Removes the semicolon at the end, because the query becomes part of a larger statement. */
export const query = parsed("a query", "write SELECT …", (sql) => sql.replace(/[;\s]+$/, "") || undefined);

export const condition = (example: string) =>
  parsed("a condition", `write it like ${example}`, (sql) => sql.trim() || undefined).meta({
    example,
  });

/** Without capitals: LISTEN turns a name without quotes into small letters, and would listen to another channel. */
export const channel = (example: string) =>
  textLike(
    /^[a-z_][a-z0-9_]{0,62}$/,
    "the name of a channel",
    `write small letters, digits and _, like ${example}`,
  ).meta({ example });

export const tablePrefix = parsed(
  "a prefix for table names",
  "write letters, digits and _, like groupsync_ or ops.groupsync_",
  (written): { readonly schema?: string; readonly tablePrefix: string } | undefined => {
    const [, schema, prefix] = /^(?:([a-z_]\w{0,62})\.)?([a-z_]\w{0,31})$/i.exec(written) ?? [];
    return prefix === undefined
      ? undefined
      : { tablePrefix: prefix, ...(schema !== undefined && { schema }) };
  },
);

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
