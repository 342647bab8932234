import { describe, expect, inject, test } from "vitest";
import { onOneDatabase } from "../../../support/databases/on-one-database.ts";
import {
  type DocumentedProgram,
  documentedBlocks,
  NODE,
  python,
  startDocumented,
} from "../../../support/documented-code.ts";
import { documentedSql } from "../../../support/documented-sql.ts";
import { findPython } from "../../../support/servers/python.ts";
import { type TcpProxy, tcpProxy } from "../../../support/servers/tcp-proxy.ts";
import { aTokenPlace, OWN, removeTokens, type SqlTokenPlace, writeTokens } from "./token-place.ts";

const PAGE = "docs/application.md";
/** The page's code with the table's name that it has here. */
const withTable = (code: string): string => code.replaceAll("groupsync_tokens.tokens", OWN.table);
const kind = inject("databaseKind");
const debianPython = await findPython();
/** Shorter than the page's code keeps a token, in milliseconds. */
const PATIENT = { timeout: 30_000 };

/** Counts what it is called with. Refuses `old`, once the test says so. */
const IN_NODE = `
  const used = [];
  let refuse;
  const refused = new Promise((resolve) => { refuse = resolve; });
  const use = async (token) => {
    used.push(token);
    if (token !== "old") return token;
    await refused;
    throw new TokenRefused();
  };
  let pending;`;

const IN_PYTHON = `
import os, urllib.parse
url = urllib.parse.urlsplit(os.environ["DATABASE_URL"])
used = []

def use(token):
    used.append(token)
    if token != "old":
        return token
    # The test answers once there is another token.
    print(json.dumps({"value": "refused"}), flush=True)
    sys.stdin.readline()
    raise TokenRefused()
`;

const CONNECTIONS = {
  postgres: `
import psycopg2
connection = psycopg2.connect(os.environ["DATABASE_URL"])
connection.autocommit = True`,
  mysql: `
import pymysql
unquote = lambda text: urllib.parse.unquote(text or "")
connection = pymysql.connect(host=url.hostname, port=url.port, user=unquote(url.username),
    password=unquote(url.password), database=url.path[1:], autocommit=True)`,
};

async function aPlace(): Promise<SqlTokenPlace> {
  const place = await aTokenPlace(
    { ...OWN, ...(kind === "postgres" && { notify: "groupsync_tokens" }) },
    "with the ledger",
  );
  await place.store.prepare();
  return place;
}

interface Application {
  readonly place: SqlTokenPlace;
  readonly app: DocumentedProgram;
}

/** The page's code beside a table with tokens that groupsync has written. */
async function anApplication(
  start: (url: string) => DocumentedProgram,
  tokens: Readonly<Record<string, string>>,
): Promise<Application> {
  const place = await aPlace();
  await writeTokens(place, tokens);
  return { place, app: start(place.tokens.url) };
}

const inNode = (url: string): DocumentedProgram =>
  startDocumented(NODE, [...documentedBlocks(PAGE, "js", kind).map(withTable), IN_NODE], {
    DATABASE_URL: url,
  });

function inPython(url: string): DocumentedProgram {
  if (debianPython === null) throw new Error("there is no Python");
  const { program, env } = debianPython;
  const code = [...documentedBlocks(PAGE, "python").map(withTable), IN_PYTHON, CONNECTIONS[kind]];
  return startDocumented(python(program), code, { ...env, DATABASE_URL: url });
}

test("the page's SELECT finds the token that groupsync has written", async () => {
  const place = await aPlace();
  await writeTokens(place, { "cus-1001": "token", "cus-1002": "another" });
  const [select = ""] = documentedBlocks(PAGE, "sql");
  expect(await place.tokens.query(withTable(select))).toEqual([{ token: "token" }]);
});

describe("the page's code in Node.js", () => {
  test("reads a token, and null if there is none or none any more", async () => {
    const { place, app } = await anApplication(inNode, { "Zürich 😀": "token", "107": "another" });
    expect(await app.ask('readToken("Zürich 😀")')).toBe("token");
    expect(await app.ask("readToken(107)")).toBe("another");
    expect(await app.ask('readToken("zürich 😀")')).toBeNull();
    await removeTokens(place, ["107"]);
    expect(await app.ask("readToken(107)")).toBeNull();
  });

  test("uses the new token if the old one is refused", async () => {
    const { place, app } = await anApplication(inNode, { a: "old" });
    await app.ask('void (pending = withToken("a", use))');
    await expect.poll(() => app.ask("used")).toEqual(["old"]);
    await writeTokens(place, { a: "new" });
    await app.ask("refuse()");
    expect(await app.ask("pending")).toBe("new");
    expect(await app.ask("used")).toEqual(["old", "new"]);
  });

  onOneDatabase.each([
    ["there is no other", []],
    ["there is none any more", ["a"]],
  ])("gives up if the token is refused and %s", async (_, removed) => {
    const { place, app } = await anApplication(inNode, { a: "old" });
    await app.ask('void (pending = withToken("a", use))');
    await expect.poll(() => app.ask("used")).toEqual(["old"]);
    await removeTokens(place, removed);
    await app.ask("refuse()");
    await expect(app.ask("pending")).rejects.toThrow("TokenRefused");
    expect(await app.ask("used")).toEqual(["old"]);
  });

  onOneDatabase("retries nothing for a tenant without a token, nor for another error", async () => {
    const { app } = await anApplication(inNode, { a: "token" });
    await expect(app.ask('withToken("nobody", use)')).rejects.toThrow(/^Error$/);
    await expect(
      app.ask('withToken("a", async (token) => { used.push(token); throw new TypeError(); })'),
    ).rejects.toThrow("TypeError");
    expect(await app.ask("used")).toEqual(["token"]);
  });

  onOneDatabase("keeps a token until it is told to forget it, and no absence", async () => {
    const { place, app } = await anApplication(inNode, { a: "old" });
    expect(await app.ask('keptToken("a")')).toBe("old");
    expect(await app.ask('keptToken("b")')).toBeNull();
    await writeTokens(place, { a: "new", b: "token" });
    expect(await app.ask('keptToken("a")')).toBe("old");
    expect(await app.ask('keptToken("b")')).toBe("token");
    await app.ask('forget("a")');
    expect(await app.ask('keptToken("a")')).toBe("new");
  });

  onOneDatabase("keeps no token that was forgotten while it was read", async () => {
    const { app } = await anApplication(inNode, { a: "old" });
    expect(await app.ask('[keptToken("a"), forget("a")][0]')).toBe("old");
    expect(await app.ask("kept.size")).toBe(0);
  });

  const heard = { postgres: "listen", mysql: "poll" }[kind];

  /** Keeps the token `old` of a, once the page's code hears of changes. */
  async function hearing(urlOf = async (url: string) => url): Promise<Application> {
    const place = await aPlace();
    const app = inNode(await urlOf(place.tokens.url));
    await writeTokens(place, { a: "old", mark: "token" });
    await app.ask('keptToken("mark")');
    await app.ask(`void ${heard}()`);
    await expect.poll(() => app.ask("kept.size"), PATIENT).toBe(0);
    expect(await app.ask('keptToken("a")')).toBe("old");
    return { place, app };
  }

  test(`forgets a token that changes, with ${heard}()`, async () => {
    const { place, app } = await hearing();
    await writeTokens(place, { a: "new" });
    await expect.poll(() => app.ask('keptToken("a")'), PATIENT).toBe("new");
  });

  test(`forgets a token that changed while the connection was cut, with ${heard}()`, async () => {
    let line: TcpProxy | undefined;
    const { place, app } = await hearing(async (url) => {
      line = await tcpProxy(url);
      return line.url;
    });
    line?.limit(0);
    await writeTokens(place, { a: "new" });
    if (kind === "mysql") await expect.poll(() => app.ask("kept.size"), PATIENT).toBe(0);
    line?.limit(Number.POSITIVE_INFINITY);
    await expect.poll(() => app.ask('keptToken("a")').catch(String), PATIENT).toBe("new");
  });
});

describe.skipIf(debianPython === null)("the page's code in Python", () => {
  test("reads a token, and None if there is none or none any more", async () => {
    const { place, app } = await anApplication(inPython, { "Zürich 😀": "token", "107": "another" });
    expect(await app.ask('read_token(connection, "Zürich 😀")')).toBe("token");
    expect(await app.ask("read_token(connection, 107)")).toBe("another");
    expect(await app.ask('read_token(connection, "zürich 😀")')).toBeNull();
    await removeTokens(place, ["107"]);
    expect(await app.ask("read_token(connection, 107)")).toBeNull();
  });

  test("uses the new token if the old one is refused", async () => {
    const { place, app } = await anApplication(inPython, { a: "old" });
    expect(await app.ask('with_token(connection, "a", use)')).toBe("refused");
    await writeTokens(place, { a: "new" });
    expect(await app.ask("go on")).toBe("new");
    expect(await app.ask("used")).toEqual(["old", "new"]);
  });

  onOneDatabase("gives up if the token is refused and there is no other", async () => {
    const { app } = await anApplication(inPython, { a: "old" });
    expect(await app.ask('with_token(connection, "a", use)')).toBe("refused");
    await expect(app.ask("go on")).rejects.toThrow("TokenRefused");
    expect(await app.ask("used")).toEqual(["old"]);
  });

  onOneDatabase("retries nothing for a tenant without a token", async () => {
    const { app } = await anApplication(inPython, {});
    await expect(app.ask('with_token(connection, "nobody", use)')).rejects.toThrow("LookupError");
    expect(await app.ask("used")).toEqual([]);
  });
});

test.runIf(kind === "mysql")("the index that the page of the table names can be made", async () => {
  const place = await aPlace();
  const statements = documentedSql("docs/tokens.md", kind);
  expect(statements).toHaveLength(1);
  for (const statement of statements) await place.tokens.query(withTable(statement));
});
