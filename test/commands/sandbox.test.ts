import { EventEmitter, once } from "node:events";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CommanderError } from "commander";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { sandboxCommand } from "../../src/commands/sandbox.ts";
import { aClient, aGroup } from "../sandbox/client.ts";
import { ELSEWHERE } from "../support/databases/elsewhere.ts";

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

const certificateFile = (text: string): string => /export NODE_EXTRA_CA_CERTS='(.*)'/.exec(text)?.[1] ?? "";

const aFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "groupsync-command-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

test("prints the config section that leads to the sandbox", async () => {
  const { text, baseUrl, apiKey } = await run();
  expect(text).toMatch(
    /^# .*\nservice:\n {2}base_url: http:\/\/127\.0\.0\.1:\d+\n {2}api_key: sandbox_[\w-]{32}\n$/,
  );
  const client = aClient({ baseUrl, apiKey, certificate: undefined });
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

test.each([
  ["--rate-limit", "2/10h"],
  ["--token-bucket", "1/h:2"],
])("%s %s lets two requests through", async (...args) => {
  const { baseUrl, apiKey } = await run(...args);
  const { call } = aClient({ baseUrl, apiKey, certificate: undefined });
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) statuses.push((await call("GET", aGroup())).status);
  expect(statuses).toEqual([200, 200, 429]);
});

test("--concurrency-limit 1 lets one request through at a time", async () => {
  const { baseUrl, apiKey } = await run("--concurrency-limit", "1", "--latency", "200");
  const { call } = aClient({ baseUrl, apiKey, certificate: undefined });
  const replies = await Promise.all([call("GET", aGroup()), call("GET", aGroup())]);
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 429]);
});

test("each switch reaches the service", async () => {
  const { baseUrl, apiKey } = await run(
    ...["--team-id", "9", "--existing", "update", "--delete-by", "id", "--errors", "body", "--extra-fields"],
    ...["--latency", "0-1", "--rate-limit", "5/h", "--retry-after", "none", "--html-status", "400"],
    ...[
      "--fail-share",
      "0",
      "--cut-before-share",
      "0",
      "--cut-after-share",
      "0.0",
      "--html-share",
      "0",
      "--seed",
      "1",
    ],
    ...["--poison", "a=b=html", "--poison", "c=success0"],
  );
  const { call } = aClient({ baseUrl, apiKey, certificate: undefined });
  expect((await call("GET", aGroup())).json).toMatchObject({
    api_environment_tag: "sandbox",
    user_group: { team_id: 9 },
  });
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
  const { call, page } = aClient({ baseUrl, apiKey, certificate: undefined });
  expect(
    await call("GET", aGroup()).then(
      ({ status }) => status,
      () => "cut",
    ),
  ).toBe(expected);
  expect((await page("/sandbox/groups")).json.groups).toHaveLength(flag === "--cut-after-share" ? 1 : 0);
});

describe("--tls", () => {
  const hasIPv6 = Object.values(networkInterfaces())
    .flat()
    .some((address) => address?.address === "::1");

  // [the address it listens on, the name the client uses; else the printed one]
  test.each([
    ["127.0.0.1", undefined],
    ["127.0.0.1", "localhost"],
    ["0.0.0.0", undefined],
    ["::1", undefined],
    ["::", "[::1]"],
  ])("on %s, the certificate is valid for %s", async (host, name) => {
    if (host.includes(":") && !hasIPv6) return;
    const { text, baseUrl: printed, apiKey } = await run("--tls", "--host", host);
    const baseUrl = name ? `https://${name}:${new URL(printed).port}` : printed;
    const certificate = await readFile(certificateFile(text), "utf8");
    const client = aClient({ baseUrl, apiKey, certificate });
    expect((await client.call("GET", aGroup())).status).toBe(200);
  });

  test("a client without the certificate refuses to connect", async () => {
    const { baseUrl, apiKey } = await run("--tls");
    const client = aClient({ baseUrl, apiKey, certificate: undefined });
    await expect(client.call("GET", aGroup())).rejects.toThrow(/self-signed/);
  });

  test("the temporary certificate is removed when the sandbox ends", async () => {
    const { text, stop } = await run("--tls");
    const file = certificateFile(text);
    await access(file);
    await stop();
    await expect(access(dirname(file))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("--cert-file implies TLS, and its file stays when the sandbox ends", async () => {
    const file = join(await aFolder(), "it's mine.pem");
    const { text, baseUrl, stop } = await run("--cert-file", file);
    expect(baseUrl).toMatch("https://");
    expect(text).toContain(`'${file.replace("'", "'\\''")}'`);
    await stop();
    expect(await readFile(file, "utf8")).toContain("BEGIN CERTIFICATE");
  });

  test("a certificate file that can't be written is an error", async () => {
    await expect(run("--cert-file", join(await aFolder(), "no", "file"))).rejects.toMatchObject({
      code: "SANDBOX_CERTIFICATE",
    });
  });
});

test("--state keeps the API key and the groups across restarts", async () => {
  const state = join(await aFolder(), "state");
  const first = await run("--state", state);
  await aClient({ ...first, certificate: undefined }).call("GET", aGroup());
  await first.stop();
  const second = await run("--state", state);
  expect(second.apiKey).toBe(first.apiKey);
  const { json } = await aClient({ ...second, certificate: undefined }).call("GET", aGroup());
  expect(json.new_user_group).toBe(false);
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
  ["--port", "http"],
  ["--team-id", "1.5"],
  ["--existing", "replace"],
  ["--delete-by", "name"],
  ["--errors", "none"],
  ["--latency", "80-20"],
  ["--latency", "1s"],
  ["--rate-limit", "0/s"],
  ["--rate-limit", "10/day"],
  ["--token-bucket", "3/s"],
  ["--token-bucket", "3/s:0"],
  ["--token-bucket", "3:20"],
  ["--concurrency-limit", "0"],
  ["--retry-after", "soon"],
  ["--fail-share", "1.01"],
  ["--html-share", "-1"],
  ["--cut-after-share", "."],
  ["--html-status", "700"],
  ["--poison", "t-1=acid"],
  ["--poison", "t-1"],
  ["--api-key", "two words"],
  ["--unknown", ""],
  ["--fail-share=0.6", "--html-share=0.6"],
])("%s %s is wrong usage", async (...args) => {
  const failure = (await run(...args).catch((error: unknown) => error)) as CommanderError;
  expect(failure).toMatchObject({
    name: expect.stringMatching(/^(CommanderError|InvalidArgumentError)$/),
    exitCode: 1,
  });
  expect(failure.message).toMatch(/^error: /);
});
