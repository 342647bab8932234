import { createTask, validateDetailed } from "node-cron";
import { z } from "zod";
import { parseDuration } from "../core/duration.ts";
import { Secret } from "../core/secret.ts";
import type { LedgerConfig } from "./config.ts";
import { parseListenAddress } from "./listen-address.ts";
import { number, scalar, wanted } from "./scalars.ts";
import { parseBaseUrl, parseDatabaseUrl, parseWebUrl, tlsProblems } from "./urls.ts";

export const HOUR_MS = 3_600_000;

export const databaseUrl = scalar(
  parseDatabaseUrl,
  wanted(
    "the url of a database",
    "write it like postgres://user:password@host:5432/database or mysql://…, with %40 for an @, %2F for a / in the password",
    "{secret}",
  ),
).superRefine((url, context) => {
  for (const message of tlsProblems(url)) context.addIssue({ code: "custom", message });
});

export const baseUrl = scalar(
  parseBaseUrl,
  wanted(
    "the address of a service",
    "write it like https://dashboards.example.com, without user, query or /api/user",
    "{secret}",
  ),
);

/** A secret that goes into a header as it is. */
const headerSecret = (what: string, remedy: string) =>
  scalar((text) => (/^[!-~]+$/.test(text) ? new Secret(text) : undefined), wanted(what, remedy, "{secret}"));

export const apiKey = headerSecret(
  "an API key",
  `write \${GROUPSYNC_API_KEY}, and set it to the bare key, without the word Token`,
);

export const credential = headerSecret("a token or a key", `write \${file:/run/secrets/…} or \${NAME}`);

export const duration = (fits: (ms: number) => boolean, what: string, remedy: string) =>
  z.preprocess(
    (value) => (value === 0 ? "0" : value),
    scalar(
      (written) => {
        const ms = parseDuration(written);
        return ms !== undefined && fits(ms) ? ms : undefined;
      },
      wanted(what, remedy),
    ),
  );

/** With the value that it has when left out. */
export const wholeNumber = (from: number, to: number, otherwise: number) =>
  number(
    (want) => z.int(want).min(from, want).max(to, want),
    wanted(`a whole number from ${from} to ${to}`, `the default is ${otherwise}`),
  ).prefault(otherwise);

export const percentage = (otherwise: number) =>
  number(
    (want) => z.number(want).min(0, want).max(100, want),
    wanted("a number from 0 to 100", `the default is ${otherwise}`),
  ).prefault(otherwise);

/** `table` or `schema.table`, either part in double quotes where it has to be. Quoting is the adapters' business. */
const TABLE = /^(?:(?:"(?:[^"]|"")+"|[\p{L}\p{N}_$-]+)(?:\.(?!$)|$)){1,2}$/u;
export const table = scalar(
  (name) => (TABLE.test(name) ? name : undefined),
  wanted("the name of a table", 'write it like customers, app.customers or app."Customers"'),
);

/** Without the semicolon at its end, for it becomes part of a larger statement. */
export const query = scalar(
  (sql) => sql.replace(/[;\s]+$/, "") || undefined,
  wanted("a query", "write SELECT …"),
);

export const condition = scalar(
  (sql) => sql.trim() || undefined,
  wanted("a condition", "write it like status = 'active'"),
);

export const tablePrefix = scalar(
  (written): Pick<LedgerConfig, "schema" | "tablePrefix"> | undefined => {
    const [, schema, prefix] = /^(?:([a-z_]\w{0,62})\.)?([a-z_]\w{0,31})$/i.exec(written) ?? [];
    return prefix === undefined
      ? undefined
      : { tablePrefix: prefix, ...(schema !== undefined && { schema }) };
  },
  wanted("a prefix for table names", "write letters, digits and _, like groupsync_ or ops.groupsync_"),
);

/** No capitals: LISTEN folds a name without quotes to small letters, and would hear nothing. */
export const channel = scalar(
  (name) => (/^[a-z_][a-z0-9_]{0,62}$/.test(name) ? name : undefined),
  wanted("the name of a channel", "write small letters, digits and _, like groupsync_tokens"),
);

export const cronLine = z
  .string(wanted("a cron line", 'write it like "*/5 * * * *"'))
  .superRefine((line, context) => {
    const { valid, errors } = validateDetailed(line);
    const field =
      errors[0] === undefined || errors[0].field === "expression" ? "" : ` (see its ${errors[0].field})`;
    const message = `{value} is not a cron line${field}; write minute, hour, day, month and weekday: "*/5 * * * *"`;
    if (!valid) context.addIssue({ code: "custom", message });
    else if (!hasTick(line))
      context.addIssue({ code: "custom", message: "{value} names a day that never comes" });
  });

/** That February has no 31st is found above; that it has no thirtieth day before its last one is not. */
function hasTick(line: string): boolean {
  const task = createTask(line, () => {});
  try {
    return task.getNextRuns(1).length > 0;
  } catch {
    return false;
  } finally {
    void task.destroy();
  }
}

export const timeZone = scalar(
  (zone) => {
    try {
      new Intl.DateTimeFormat("en", { timeZone: zone });
      return zone;
    } catch {
      return undefined;
    }
  },
  wanted("a time zone", "write it like UTC or Europe/Berlin"),
);

/** Its path is as good as a password: a chat's incoming webhook has its key there. */
export const webUrl = scalar(
  parseWebUrl,
  wanted("the address of a web page", "write it like https://hooks.example.com/services/T0/B0/x", "{secret}"),
);

/** Of a server, as its client wants it: without user, query or a slash at its end. */
export const webAddress = (what: string, remedy: string, fits: (url: URL) => boolean = () => true) =>
  scalar(
    (text) => {
      const address = parseBaseUrl(text);
      return address !== undefined && fits(new URL(address)) ? address : undefined;
    },
    wanted(what, remedy, "{secret}"),
  );

export const textLike = (pattern: RegExp, what: string, remedy: string) =>
  scalar((text) => (pattern.test(text) ? text : undefined), wanted(what, remedy));

/** One line that is not empty. */
export const plainText = (what: string, remedy: string) => textLike(/^[^\p{Cc}]+$/u, what, remedy);

/** Of a file or a directory. A `~` is the shell's, and would be taken for a name. */
export const filePath = (what: string, example: string) =>
  textLike(/^(?!~)[^\p{Cc}]+$/u, what, `write its whole path, like ${example}`);

export const listenAddress = scalar(
  parseListenAddress,
  wanted("an address to listen on", 'write it like 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080, or "off"'),
);

export const hostName = textLike(
  /^[\w-]+(\.[\w-]+)*$/,
  "the name of a host",
  "write it like groupsync.internal, without scheme, port and path",
);
