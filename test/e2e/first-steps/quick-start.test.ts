import { expect, inject, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { documentedSql } from "../../support/documented-sql.ts";
import { pageText } from "../../support/pages.ts";
import { aDaemon } from "../daemon/a-daemon.ts";
import { aWorld, until, type World } from "../world.ts";
import { aNewcomer } from "./newcomer.ts";

const PAGE = "docs/quick-start.md";
const kind = inject("databaseKind");

interface Transcript {
  readonly args: readonly string[];
  /** What the page shows of the output. Between two of these parts it leaves something out. */
  readonly parts: readonly string[];
}

const transcripts: readonly Transcript[] = [
  ...pageText(PAGE).matchAll(/^```console\n\$ groupsync ([^\n]+)\n(.*?)^```$/gms),
].map(([, command = "", output = ""]) => ({
  args: command.split(" "),
  parts: output.split(/^…\n/m).map(comparable),
}));

function comparable(text: string): string {
  return text.replace(/in [\d.]+ m?s$/gm, "in … ms");
}

/** What a command printed, with the names of the page. */
function asOnThePage(output: string, { database, sandbox }: World): string {
  const { host } = new URL(database.url);
  return comparable(
    output
      .replaceAll(`${host}/${database.name}`, "127.0.0.1:5432/shop")
      .replaceAll(new URL(sandbox.baseUrl).host, "127.0.0.1:4180")
      .replaceAll(/\S+\/config\.yaml is valid/g, "./config.yaml is valid")
      .replaceAll(/Wrote \S+config\.yaml and \S+groupsync\.sql/g, "Wrote config.yaml and groupsync.sql")
      .replaceAll(/\b(groupsync|groupsync_tokens)_[0-9a-f]{8}\b/g, "$1"),
  );
}

test("the quick start leads from its table to a daemon in sync, and back", async () => {
  const world = await aWorld({
    database: await freshDatabase(),
    tenants: 0,
    service: { existing: "update" },
  });
  const { database, sandbox } = world;
  const [create = "", undo = ""] = documentedSql(PAGE, kind);
  await database.query("DROP TABLE customers");
  await database.query(create);
  const newcomer = await aNewcomer(world);

  expect(transcripts.map(({ args }) => args[0])).toEqual(["init", "check", "probe", "plan", "sync"]);
  for (const { args, parts } of transcripts) {
    if (args[0] === "check") await newcomer.followSteps();
    const here = args.map((arg) => (arg === "http://127.0.0.1:4180" ? sandbox.baseUrl : arg));
    const { code, stdout } = await world.run(...here);
    expect({ args, code }).toEqual({ args, code: args[0] === "sync" ? 3 : 0 });
    // The page shows PostgreSQL's outputs.
    if (kind !== "postgres") continue;
    const printed = asOnThePage(stdout, world);
    for (const part of parts) expect(printed).toContain(part);
  }
  expect(await newcomer.tokens()).toEqual(await world.live());

  const daemon = await aDaemon(world);
  await daemon.ran(1);
  const [repair = ""] = /^UPDATE customers .*$/m.exec(pageText(PAGE)) ?? [];
  await database.query(repair);
  await until(async () => Object.keys(await newcomer.tokens()).length === 3);
  expect(await daemon.program.stop("SIGTERM")).toMatchObject({ code: 0 });

  // Nothing is deleted yet. The statement finds the table that init made.
  const [, removals = ""] = /`(SELECT \* FROM \S+_removals [^`]+)`/.exec(pageText("docs/deletions.md")) ?? [];
  expect(removals).not.toBe("");
  expect(await database.query(newcomer.named(removals))).toEqual([]);

  const [, forget = ""] = /^groupsync (forget .*?) *#/m.exec(pageText(PAGE)) ?? [];
  expect(await world.run(...forget.split(" "), "--yes")).toMatchObject({ code: 0 });
  expect(await world.live()).toEqual({});
  expect(await newcomer.tokens()).toEqual({});
  await database.query(newcomer.named(undo).replaceAll("shop.", `${database.name}.`));
  await expect(newcomer.tokens()).rejects.toThrow();
});
