import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { hostClock } from "../../../src/adapters/host/clock.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { serve } from "../../../src/daemon/http/http-server.ts";
import { syncRequests } from "../../../src/daemon/http/sync-requests.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";

const run = promisify(execFile);
const page = readFileSync(new URL("../../../docs/new-tenants.md", import.meta.url), "utf8");
const [, section = ""] = /^## POST \/sync\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(page) ?? [];
const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "ms").exec(section)?.[1] ?? "";

const KEY = "a-key-of-24-characters-0";

/** What the page's reader sets before running its examples. */
async function anEnvironment(served: Served): Promise<NodeJS.ProcessEnv> {
  const syncRoutes = syncRequests(
    {
      clock: hostClock,
      serveTenant: async (id) => (id === "107" || id === "a/b" ? served : { kind: "unknown" }),
      log: () => {},
      onReply: () => {},
    },
    new AbortController().signal,
  );
  const server = await serve({ host: "127.0.0.1", port: 0 }, () => syncRoutes(new Secret(KEY)));
  onTestFinished(() => server.close());
  return { PATH: process.env.PATH, GROUPSYNC_URL: server.url, GROUPSYNC_SYNC_KEY: KEY };
}

test("the page's call with curl has the reply that the page shows", async ({ skip }) => {
  const env = await anEnvironment({ kind: "done", outcome: "created" });
  await run("curl", ["--version"]).catch(() => skip("no curl here"));
  const { stdout, stderr } = await run("sh", ["-c", block("sh")], { env });
  expect([stdout, stderr]).toEqual([block("json"), ""]);
});

test.each<[id: string, Served, result: string]>([
  ["a/b", { kind: "done", outcome: "unchanged" }, "true"],
  ["a/b", { kind: "pending" }, "false"],
  ["a/b", { kind: "failed", code: "TIMEOUT", message: "no answer" }, "false"],
  ["🍕", { kind: "pending" }, "groupsync answered 404"],
])("the page's call with Node.js, for %s and %j: %s", async (id, served, result) => {
  const env = await anEnvironment(served);
  const call = `console.log(await hasToken(${JSON.stringify(id)}).catch(({ message }) => message));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", block("js") + call], {
    env,
  });
  expect(stdout).toMatch(new RegExp(`^${result}`));
});
