import { appendFile, copyFile, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { aGroup, aSandbox } from "./client.ts";

let folder: string;
beforeEach(async () => {
  folder = temporaryFolder();
});

test("groups, tokens and the API key survive a restart", async () => {
  const state = join(folder, "state");
  const first = await aSandbox({ state });
  for (const id of ["a", "b", "c"]) await first.client.call("GET", aGroup({ user_group_id: id }));
  const [a, b] = (await first.client.page("/sandbox/groups")).json.groups;
  await first.client.call("POST", { current_token: a.token });
  await first.client.call("DELETE", { user_group_id: "b", current_token: b.token });
  const before = (await first.client.page("/sandbox/groups")).json;
  await first.close();

  const second = await aSandbox({ state });
  expect(second.apiKey).toBe(first.apiKey);
  expect((await second.client.page("/sandbox/groups")).json).toEqual(before);
  expect((await second.client.call("POST", { current_token: a.token })).status).toBe(404);
  expect((await second.client.call("GET", aGroup({ user_group_id: "c" }))).json.new_user_group).toBe(false);
});

test("a change is in the file before its answer is sent", async () => {
  const state = join(folder, "state");
  const { client } = await aSandbox({ state });
  const { user_group } = (await client.call("GET", aGroup())).json;
  const asKilled = join(folder, "killed");
  await copyFile(state, asKilled);
  await appendFile(asKilled, '{"kind":"put","group":{"user_gro');

  const again = await aSandbox({ state: asKilled });
  expect((await again.client.call("GET", aGroup())).json).toMatchObject({
    new_user_group: false,
    user_group,
  });
});

test("a restart compacts the file to one line for each group", async () => {
  const state = join(folder, "state");
  const { client, close } = await aSandbox({ state });
  let { token } = (await client.call("GET", aGroup())).json.user_group;
  for (let i = 0; i < 10; i++)
    token = (await client.call("POST", { current_token: token })).json.user_group.token;
  await close();
  await (await startSandbox({ state })).close();
  expect((await readFile(state, "utf8")).trim().split("\n")).toHaveLength(2);
});

test("the new state file replaces a link, or what a crash left, at the path of the unfinished file", async () => {
  const state = join(folder, "state");
  const other = join(folder, "other");
  await writeFile(other, "theirs");
  await symlink(other, `${state}.tmp`);
  await (await startSandbox({ state })).close();
  expect(await readFile(other, "utf8")).toBe("theirs");
  await writeFile(`${state}.tmp`, "half", { mode: 0o666 });
  await (await startSandbox({ state })).close();
  expect((await stat(state)).mode & 0o777).toBe(0o600);
});

test("a given API key replaces the key in the file", async () => {
  const state = join(folder, "state");
  await (await startSandbox({ state })).close();
  await (await startSandbox({ state, apiKey: "mine" })).close();
  expect((await aSandbox({ state })).apiKey).toBe("mine");
});

test.each([
  ["something else", "hello: world\n", /line 1/],
  ["a broken line", '{"groupsync_sandbox":1,"api_key":"k"}\n{"kind":"put"}\n', /line 2/],
])("a file with %s is refused and left alone", async (_what, text, message) => {
  const state = join(folder, "state");
  await writeFile(state, text);
  await expect(startSandbox({ state })).rejects.toMatchObject({
    name: "SyncError",
    code: "SANDBOX_STATE",
    message: expect.stringMatching(message),
  });
  expect(await readFile(state, "utf8")).toBe(text);
});

test("a sandbox whose port is taken doesn't touch the other sandbox's state file", async () => {
  const state = join(folder, "state");
  const running = await aSandbox({ state });
  const port = Number(new URL(running.baseUrl).port);
  await expect(startSandbox({ state, port })).rejects.toMatchObject({
    code: "SANDBOX_ADDRESS",
    message: expect.stringContaining("in use"),
  });
  await running.client.call("GET", aGroup());
  expect(await readFile(state, "utf8")).toContain('"t-1"');
});
