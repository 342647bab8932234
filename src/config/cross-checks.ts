import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type * as z from "zod";
import { UNKNOWN_SCHEMA } from "../core/setup/setup.ts";
import { isPlainHttpToAnotherHost } from "../core/tls/database-tls.ts";
import { containerOf, describeDatabase, describeTable } from "./descriptions.ts";
import type { Path } from "./document.ts";
import type { ConfigFile } from "./schema.ts";
import {
  completeStore,
  isTable,
  type SecretTokens,
  type TokenTable,
  type WrittenTable,
} from "./token-stores.ts";
import type { DatabaseUrl } from "./urls.ts";

/**
 * What may be wrong between keys. `at` is the key to blame; no check is made if that key is wrong by itself. Another key
 * may be wrong: a check that reads more than whether it is there names it in `needs`.
 */
interface Check<T> {
  readonly at: string;
  readonly needs?: readonly string[];
  readonly isWrong: (file: T) => boolean;
  readonly message: string;
}

const PLAIN_HTTP =
  "is http to another host, and anybody in between can read the secrets that are sent; " +
  "write https://…, or allow_http: true beside it";

const CHECKS: readonly Check<ConfigFile>[] = [
  {
    at: "service.base_url",
    isWrong: ({ service }) => sendsInClear(service.base_url, service),
    message: PLAIN_HTTP,
  },
  {
    at: "source.query",
    isWrong: ({ source }) => source.table !== undefined && source.query !== undefined,
    message: "cannot stand beside table; keep one of the two",
  },
  {
    at: "source.table",
    isWrong: ({ source }) => source.table === undefined && source.query === undefined,
    message: "is missing; name the table or view that has one row a tenant, or write a query",
  },
  {
    at: "source.where",
    isWrong: ({ source }) => source.where !== undefined && source.table === undefined,
    message: "goes only with table; put the condition into the query",
  },
  {
    at: "source.removed_when",
    isWrong: ({ source, deletion }) => deletion.when === "flagged" && source.removed_when === undefined,
    message:
      "is missing; with deletion.when: flagged, write the condition that is true of a removed tenant's row, like deleted_at IS NOT NULL",
  },
  {
    at: "source.row_security",
    needs: ["source.url"],
    isWrong: ({ source }) => source.row_security !== undefined && isMysql(source.url),
    message: "is about the policies of PostgreSQL, and MySQL has none; leave it out",
  },
  {
    at: "source.changes.channel",
    needs: ["source.url"],
    isWrong: ({ source }) => source.changes.channel !== undefined && isMysql(source.url),
    message: "is a channel of PostgreSQL, and source.url leads to MySQL, which has none; use changes.column",
  },
  {
    at: "source.changes.url",
    isWrong: ({ source: { changes } }) => changes.url !== undefined && changes.channel === undefined,
    message: "goes only with channel, which is what listens there; add channel, or remove it",
  },
  {
    at: "source.changes.url",
    isWrong: ({ source: { changes } }) => changes.channel !== undefined && isMysql(changes.url),
    message: "leads to MySQL, which has no channels; write a url of PostgreSQL",
  },
  {
    at: "group.name.optional",
    isWrong: ({ group: { name } }) => name.kind !== "constant" && name.optional,
    message: "is not possible: every group needs a name; remove it",
  },
  {
    // `groupsync init` writes this placeholder for a schema id that it doesn't know.
    at: `group.mapping.${UNKNOWN_SCHEMA}`,
    isWrong: ({ group: { mapping } }) => mapping.kind === "keys" && UNKNOWN_SCHEMA in mapping.keys,
    message: "stands for the id of one of the service's schemas; write that id in its place",
  },
  {
    at: "ledger.table_prefix",
    needs: ["ledger.url", "source.url"],
    isWrong: ({ ledger, source }) =>
      ledger.table_prefix.schema !== undefined && isMysql(ledger.url ?? source.url),
    message: "has a schema, which MySQL has not; name the database in ledger.url instead",
  },
  ...(["window", "max_per_run"] as const).map((key) => ({
    at: `rotation.${key}`,
    isWrong: ({ rotation }: ConfigFile) => rotation[key] !== undefined && rotation.max_age === undefined,
    message: "goes only with max_age, without which no sync rotates; add max_age, like 90d",
  })),
  {
    at: "http.sync_key",
    isWrong: ({ http }) => http.sync_key !== undefined && http.listen === "off",
    message: "is for requests to http.listen, which is off; remove it, or write an address there",
  },
  ...(["webhook", "heartbeat"] as const).map((key) => ({
    at: `notify.${key}`,
    isWrong: ({ notify }: ConfigFile) => sendsInClear(notify[key]?.reveal(), notify),
    message: PLAIN_HTTP,
  })),
];

interface InFile<Store> {
  readonly store: Store;
  readonly source: ConfigFile["source"];
}

/** The keys are those of the store, or `source.…`. */
const TABLE_CHECKS: readonly Check<InFile<WrittenTable>>[] = [
  ...(["table", "id_column", "token_column"] as const).map((key) => ({
    at: key,
    isWrong: ({ store }: InFile<WrittenTable>) => store.rows === "existing" && store[key] === undefined,
    message: `is missing; with rows: existing, name the ${key.replace("_", " ")} of the tokens`,
  })),
  {
    at: "token_column",
    isWrong: ({ store }) => store.token_column !== undefined && store.token_column === store.id_column,
    message: "is the id_column too; the token needs a column of its own",
  },
  {
    at: "table",
    needs: ["url", "source.url", "source.table"],
    isWrong: ({ store, source }) =>
      store.rows === "own" &&
      isSame(store.table, source.table, describeTable) &&
      isSame(store.url ?? source.url, source.url, describeDatabase),
    message:
      "is the table of the tenants, whose rows would be inserted and deleted; to write tokens into its rows, " +
      "add rows: existing; otherwise name another table",
  },
  {
    at: "owner",
    needs: ["url", "source.url"],
    isWrong: ({ store, source }) => store.owner !== undefined && isMysql(store.url ?? source.url),
    message:
      "is a role of PostgreSQL, and the tokens go into MySQL, whose tables have no owners; leave it out",
  },
  {
    at: "notify",
    needs: ["url", "source.url"],
    isWrong: ({ store, source }) => store.notify !== undefined && isMysql(store.url ?? source.url),
    message: "is a channel of PostgreSQL, and the tokens go into MySQL, which has none; leave it out",
  },
];

const SECRET_CHECKS: readonly Check<InFile<SecretTokens>>[] = [
  {
    at: "address",
    isWrong: ({ store }) => store.store === "vault" && sendsInClear(store.address, store),
    message: PLAIN_HTTP,
  },
  {
    at: "endpoint",
    isWrong: ({ store }) =>
      (store.store === "aws_secrets_manager" || store.store === "gcp_secret_manager") &&
      sendsInClear(store.endpoint, store),
    message: PLAIN_HTTP,
  },
];

const sendsInClear = (
  address: string | undefined,
  { allow_http }: { readonly allow_http: boolean },
): boolean => !allow_http && address !== undefined && isPlainHttpToAnotherHost(new URL(address));

const isMysql = (url: DatabaseUrl | undefined): boolean => url?.dialect === "mysql";

const isSame = <T>(one: T | undefined, other: T | undefined, describe: (it: T) => string): boolean =>
  one !== undefined && other !== undefined && describe(one) === describe(other);

/** Adds what is wrong between the keys of the file. */
export function crossChecks(file: ConfigFile, context: z.core.$RefinementCtx<ConfigFile>): void {
  // An unknown key says nothing of the keys beside it.
  const wrong = context.issues.filter(({ code }) => code !== "unrecognized_keys");
  const isMap = wrong.every(({ path = [] }) => path.length > 0);
  if (!isMap) return;
  /** Neither the value at the path, nor anything in it or around it, is wrong. */
  const isRight = (path: Path): boolean =>
    !wrong.some(({ path: other = [] }) =>
      path.every((key, index) => index >= other.length || other[index] === key),
    );
  const add = (path: Path, message: string): void =>
    context.addIssue({ code: "custom", path: [...path], message });
  const run = <T>(checks: readonly Check<T>[], it: T, pathOf: (key: string) => Path): void => {
    for (const { at, needs = [], isWrong, message } of checks)
      if ([at, ...needs].map(pathOf).every(isRight) && isWrong(it)) add(pathOf(at), message);
  };

  run(CHECKS, file, (key) => key.split("."));
  const earlier: { readonly name: string; readonly store: TokenTable | SecretTokens }[] = [];
  for (const [index, store] of file.tokens.entries()) {
    const path = ["tokens", index];
    if (!isRight([...path, "store"])) continue;
    const pathOf = (key: string): Path => (key.startsWith("source.") ? key.split(".") : [...path, key]);
    if (isTable(store)) run(TABLE_CHECKS, { store, source: file.source }, pathOf);
    else run(SECRET_CHECKS, { store, source: file.source }, pathOf);
    if (!isRight(path) || !isRight(["source", "url"])) continue;
    const complete = completeStore(store, file.source.url);
    const name = `tokens.${index}`;
    const clashes = earlier.map((other) => clash(complete, other.store, other.name));
    const message = clashes.find((text) => text !== undefined);
    if (message !== undefined) add(path, message);
    earlier.push({ name, store: complete });
  }
}

/** Why a token store cannot stand beside `other`, whose key is `name`; undefined if it can. */
function clash(
  store: TokenTable | SecretTokens,
  other: TokenTable | SecretTokens,
  name: string,
): string | undefined {
  if (store.store === "table" || other.store === "table") {
    if (store.store !== "table" || other.store !== "table" || !shareTokens(store, other)) return undefined;
    return `writes into the table of ${name}; keep one of the two, or name another table`;
  }
  if (store.store === "file" && other.store === "file") {
    const [place, otherPlace] = [realPlace(store.directory), realPlace(other.directory)];
    if (!isIn(place, otherPlace) && !isIn(otherPlace, place)) return undefined;
    return `shares a directory with ${name}, maybe through a symbolic link; keep one of the two, or give each a directory of its own`;
  }
  if (JSON.stringify(containerOf(store)) !== JSON.stringify(containerOf(other))) return undefined;
  // A Secret of Kubernetes may hold several keys.
  const isKeyBeside = store.store === "kubernetes" && other.store === "kubernetes" && store.key !== other.key;
  if (isKeyBeside && store.path.join() === other.path.join()) return undefined;
  const [[before], [otherBefore]] = [store.path, other.path];
  if (!before.startsWith(otherBefore) && !otherBefore.startsWith(before)) return undefined;
  return `may write secrets of ${name}; keep one of the two, or begin their paths with different words`;
}

/** With `rows: existing`, two columns of one table may each hold the token. */
const shareTokens = (one: TokenTable, other: TokenTable): boolean =>
  describeDatabase(one.url) === describeDatabase(other.url) &&
  describeTable(one.table) === describeTable(other.table) &&
  (one.rows === "own" || other.rows === "own" || one.token_column === other.token_column);

/** The path with its symbolic links followed, as far as it exists and this user may see it. */
function realPlace(path: string): string {
  const above = dirname(resolve(path));
  try {
    return realpathSync(path);
  } catch {
    return above === path ? path : join(realPlace(above), basename(path));
  }
}

/** A store owns its directory with everything below: it puts its owner's mark there. */
const isIn = (directory: string, around: string): boolean =>
  !/^\.\.(?:\/|$)/.test(relative(around, directory));
