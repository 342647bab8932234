import { expect, test } from "vitest";
import { startProgram } from "../e2e/program.ts";
import { until } from "../e2e/world.ts";
import { documentsIn, image, textOf } from "./files.ts";
import { startTrial } from "./trial.ts";

test("the trial's database, service and daemon come into sync, without an engine for containers", async () => {
  const { shop, daemon, configFile } = await startTrial();
  const [{ services }] = documentsIn("compose/compose.yaml");
  expect(services.groupsync.volumes).toEqual([`./trial:${image.config.replace("/config.yaml", "")}:ro`]);

  const tokens = async (): Promise<string[]> => {
    const { rows } = await shop.query("SELECT to_regclass('groupsync_tokens.tokens') AS made");
    if (rows[0].made === null) return [];
    const stored = await shop.query("SELECT user_group_id FROM groupsync_tokens.tokens ORDER BY 1");
    return stored.rows.map(({ user_group_id }) => user_group_id);
  };
  await until(async () => (await tokens()).length === 4);
  expect(await tokens()).toEqual(["cus-1001", "cus-1002", "cus-1003", "cus-1005"]);

  // The commands in the docs. The trigger tells the daemon of both customers, before the next full sync.
  const [, section = ""] = /^## Try it in containers$(.*?)^## /ms.exec(textOf("docs/deploy.md")) ?? [];
  const [show = "", insert = "", update = "", remove = ""] = [...section.matchAll(/-c "(.+?)"/g)].map(
    ([, sql = ""]) => sql,
  );
  expect((await shop.query(show)).rowCount).toBe(4);
  await until(() => daemon.output().includes("groupsync notices changed tenants"));
  await shop.query(insert);
  await shop.query(update);
  await until(async () => (await tokens()).length === 6);
  await shop.query(remove);
  const { stdout } = await startProgram(["--config", configFile, "plan"]).ended;
  expect(stdout).toMatch(/^= cus-1002 .*its tenant is gone; deleted after another/m);
  // No warning: the trial's rights are those of the docs.
  expect(daemon.output()).not.toContain('"level":"warn"');
});
