import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import type { CommanderError } from "commander";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { sandboxCommand } from "../../src/commands/sandbox.ts";
import { aClient, aGroup } from "../sandbox/client.ts";
import { ELSEWHERE } from "../support/databases/elsewhere.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Starts the command and returns what it printed once it listens, and how to stop it. */
async function run(...args: string[]) {
  const stopping = new AbortController();
  const printed = new EventEmitter();
  const command = sandboxCommand({
    io: { stdout: (text) => printed.emit("text", text), stop: stopping.signal },
  })
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  const listening = once(printed, "text");
  const ended = command.parseAsync(["--port", "0", ...args], { from: "user" });
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  const [text = ""] = await Promise.race([listening, ended.then(() => [])]);
  onTestFinished(stop);
  const { base_url: baseUrl, api_key: apiKey } = parse(text).service;
  return { text, baseUrl, apiKey, stop };
}

test("prints the config section that leads to the sandbox", async () => {
  const { text, baseUrl, apiKey } = await run();
  expect(text).toMatch(
    /^# .*\nservice:\n {2}base_url: http:\/\/127\.0\.0\.1:\d+\n {2}api_key: sandbox_[\w-]{32}\n$/,
  );
  const client = aClient({ baseUrl, apiKey });
  expect((await client.call("GET", aGroup())).status).toBe(200);
});

test("for a wildcard address, prints an address that a client can connect to", async () => {
  expect((await run("--host", "0.0.0.0")).baseUrl).toMatch(/^http:\/\/localhost:\d+$/);
});

test("for an address that other hosts can reach over http, the printed config allows http", async () => {
  const { text } = await run("--host", ELSEWHERE);
  expect(parse(text).service).toMatchObject({
    base_url: expect.stringContaining(ELSEWHERE),
    allow_http: true,
  });
});

test("a dollar in the API key is escaped in the printed config", async () => {
  const { apiKey } = await run("--api-key", "a$" + "{b}:#'");
  expect(apiKey).toBe("a$$" + "{b}:#'");
});

test("--token-bucket 1/h:2 lets two requests through", async () => {
  const { call } = aClient(await run("--token-bucket", "1/h:2"));
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) statuses.push((await call("GET", aGroup())).status);
  expect(statuses).toEqual([200, 200, 429]);
});

test("each switch reaches the service", async () => {
  const { baseUrl, apiKey } = await run(
    ...["--team-id", "9", "--existing", "update", "--delete-by", "id", "--errors", "body"],
    ...["--latency", "0-1", "--rate-limit", "5/h", "--retry-after", "none", "--html-status", "400"],
    ...["--fail-share", "0", "--cut-before-share", "0", "--cut-after-share", "0.0"],
    ...["--html-share", "0", "--seed", "1"],
    ...["--poison", "a=b=html", "--poison", "c=success0"],
  );
  const { call } = aClient({ baseUrl, apiKey });
  expect((await call("GET", aGroup())).json).toMatchObject({ user_group: { team_id: 9 } });
  expect((await call("GET", aGroup({ name: "new" }))).json.user_group.name).toBe("new");
  expect((await call("GET", aGroup({ user_group_id: "a=b" }))).status).toBe(400);
  expect(await call("GET", aGroup({ user_group_id: "c" }))).toMatchObject({
    status: 200,
    json: { success: 0 },
  });
  expect((await call("DELETE", { user_group_id: "t-1" })).json).toMatchObject({ success: 1 });
  const limited = await call("GET", aGroup());
  expect(limited.status).toBe(429);
  expect(limited.headers).not.toHaveProperty("retry-after");
});

test.each([
  ["--fail-share", 500],
  ["--html-share", 403],
  ["--cut-before-share", "cut"],
  ["--cut-after-share", "cut"],
])("with %s 1 every request fails", async (flag, expected) => {
  const { baseUrl, apiKey } = await run(flag, "1");
  const { call, page } = aClient({ baseUrl, apiKey });
  expect(
    await call("GET", aGroup()).then(
      ({ status }) => status,
      () => "cut",
    ),
  ).toBe(expected);
  expect((await page("/sandbox/groups")).json.groups).toHaveLength(flag === "--cut-after-share" ? 1 : 0);
});

test("--state keeps the API key and the groups across restarts", async () => {
  const state = join(temporaryFolder(), "state");
  const first = await run("--state", state);
  await aClient(first).call("GET", aGroup());
  await first.stop();
  const second = await run("--state", state);
  expect(second.apiKey).toBe(first.apiKey);
  expect((await aClient(second).call("GET", aGroup())).json.new_user_group).toBe(false);
});

test("a port in use is an error with a hint for the operator", async () => {
  const { baseUrl } = await run();
  const { port } = new URL(baseUrl);
  await expect(run("--port", port)).rejects.toMatchObject({
    name: "SyncError",
    code: "SANDBOX_ADDRESS",
    message: `the sandbox cannot listen on 127.0.0.1:${port}: the port is in use`,
    hint: expect.stringContaining("--port"),
  });
});

test("the error for a bad API key doesn't repeat the key", async () => {
  await expect(run("--api-key", "two words")).rejects.toMatchObject({
    message: expect.not.stringContaining("two words"),
  });
});

test.each([
  ["--port", "65536"],
  ["--team-id", "1.5"],
  ["--existing", "replace"],
  ["--latency", "80-20"],
  ["--rate-limit", "0/s"],
  ["--token-bucket", "3/s"],
  ["--concurrency-limit", "0"],
  ["--fail-share", "1.01"],
  ["--poison", "t-1=acid"],
  ["--api-key", "two words"],
  ["--fail-share=0.6", "--html-share=0.6"],
])("%s %s is wrong usage", async (...args) => {
  const failure = (await run(...args).catch((error: unknown) => error)) as CommanderError;
  expect(failure).toMatchObject({
    name: expect.stringMatching(/^(CommanderError|InvalidArgumentError)$/),
    exitCode: 1,
  });
  expect(failure.message).toMatch(/^error: /);
});
