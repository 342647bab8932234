import { Cron } from "croner";
import * as z from "zod";
import { describe } from "../../core/failure/sync-error.ts";
import { Secret } from "../../core/secret/secret.ts";
import { parseDuration } from "../../core/text/quantity.ts";
import type { LedgerConfig } from "../model/config.ts";
import { parseListenAddress } from "../model/listen-address.ts";
import { mustBe, number, parsedText } from "./scalars.ts";
import { parseBaseUrl, parseDatabaseUrl, parseWebUrl, tlsProblems } from "./urls.ts";

export const HOUR_MS = 3_600_000;

export const databaseUrl = parsedText(
  parseDatabaseUrl,
  mustBe(
    "the url of a database",
    "write it like postgres://user:password@host:5432/database or mysql://…, with %40 for an @, %2F for a / in the password",
    "{secret}",
  ),
).superRefine((url, context) => {
  for (const message of tlsProblems(url)) context.addIssue({ code: "custom", message });
});

export const baseUrl = parsedText(
  parseBaseUrl,
  mustBe(
    "the address of a service",
    "write it like https://dashboards.example.com, without user, query or /api/user",
    "{secret}",
  ),
);

/** A secret that goes into an HTTP header unescaped: printable ASCII without spaces. */
const headerSecret = (what: string, remedy: string, shortest = 1) =>
  parsedText(
    (text) => (/^[!-~]+$/.test(text) && text.length >= shortest ? new Secret(text) : undefined),
    mustBe(what, remedy, "{secret}"),
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

/** In milliseconds. A bare 0 is the one number that needs no unit. */
export const duration = (fits: (ms: number) => boolean, what: string, remedy: string) =>
  z
    .preprocess(
      (value) => (value === 0 ? "0" : value),
      parsedText(
        (text) => {
          const ms = parseDuration(text);
          return ms !== undefined && fits(ms) ? ms : undefined;
        },
        mustBe(what, remedy),
      ),
    )
    .meta({ type: ["string", "number"] });

/** `otherwise` is the default. */
export const wholeNumber = (from: number, to: number, otherwise: number) =>
  number(
    (requirement) => z.int(requirement).min(from, requirement).max(to, requirement),
    mustBe(`a whole number from ${from} to ${to}`, `the default is ${otherwise}`),
  ).prefault(otherwise);

export const percentage = (otherwise: number) =>
  number(
    (requirement) => z.number(requirement).min(0, requirement).max(100, requirement),
    mustBe("a number from 0 to 100", `the default is ${otherwise}`),
  ).prefault(otherwise);

/** `table` or `schema.table`; each part may stand in double quotes. */
const TABLE = /^(?:(?:"(?:[^"]|"")+"|[\p{L}\p{N}_$-]+)(?:\.(?!$)|$)){1,2}$/u;
export const table = parsedText(
  (name) => (TABLE.test(name) ? name : undefined),
  mustBe("the name of a table", 'write it like customers, app.customers or app."Customers"'),
);

/** Removes the semicolon at the end, because the query becomes part of a larger statement. */
export const query = parsedText(
  (sql) => sql.replace(/[;\s]+$/, "") || undefined,
  mustBe("a query", "write SELECT …"),
);

export const condition = (example: string) =>
  parsedText((sql) => sql.trim() || undefined, mustBe("a condition", `write it like ${example}`));

export const tablePrefix = parsedText(
  (written): Pick<LedgerConfig, "schema" | "tablePrefix"> | undefined => {
    const [, schema, prefix] = /^(?:([a-z_]\w{0,62})\.)?([a-z_]\w{0,31})$/i.exec(written) ?? [];
    return prefix === undefined
      ? undefined
      : { tablePrefix: prefix, ...(schema !== undefined && { schema }) };
  },
  mustBe("a prefix for table names", "write letters, digits and _, like groupsync_ or ops.groupsync_"),
);

/** Without capitals: LISTEN turns a name without quotes into small letters, and would listen to another channel. */
export const channel = (example: string) =>
  parsedText(
    (name) => (/^[a-z_][a-z0-9_]{0,62}$/.test(name) ? name : undefined),
    mustBe("the name of a channel", `write small letters, digits and _, like ${example}`),
  );

export const cronLine = z
  .string(mustBe("a cron line", 'write it like "*/5 * * * *"'))
  .superRefine((line, context) => {
    const pattern = cronPattern(line);
    if (typeof pattern === "string") {
      const message = `{value} is not a cron line${pattern}; write minute, hour, day, month and weekday: "*/5 * * * *"`;
      context.addIssue({ code: "custom", message });
    } else if (pattern.nextRun() === null)
      context.addIssue({ code: "custom", message: "{value} names a day that never comes" });
  });

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

export const timeZone = parsedText(
  (zone) => {
    try {
      new Intl.DateTimeFormat("en", { timeZone: zone });
      return zone;
    } catch {
      return undefined;
    }
  },
  mustBe("a time zone", "write it like UTC or Europe/Berlin"),
);

/** The address is secret: the path of a chat's incoming webhook holds its key. */
export const webUrl = parsedText(
  parseWebUrl,
  mustBe("the address of a web page", "write it like https://hooks.example.com/services/T0/B0/x", "{secret}"),
);

/** The address of a server, without user, query or a slash at its end. */
export const webAddress = (what: string, remedy: string, fits: (url: URL) => boolean = () => true) =>
  parsedText(
    (text) => {
      const address = parseBaseUrl(text);
      return address !== undefined && fits(new URL(address)) ? address : undefined;
    },
    mustBe(what, remedy, "{secret}"),
  );

export const textLike = (pattern: RegExp, what: string, remedy: string) =>
  parsedText((text) => (pattern.test(text) ? text : undefined), mustBe(what, remedy));

/** One line that is not empty. */
export const plainText = (what: string, remedy: string) => textLike(/^[^\p{Cc}]+$/u, what, remedy);

/** The path of a file or a directory. A `~` is refused, because only a shell replaces it. */
export const filePath = (what: string, example: string) =>
  textLike(/^(?!~)[^\p{Cc}]+$/u, what, `write its whole path, like ${example}`);

export const listenAddress = parsedText(
  parseListenAddress,
  mustBe("an address to listen on", 'write it like 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080, or "off"'),
);

export const hostName = textLike(
  /^[\w-]+(\.[\w-]+)*$/,
  "the name of a host",
  "write it like groupsync.internal, without scheme, port and path",
);
