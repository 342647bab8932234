import { expect, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { aClient, aGroup } from "./client.ts";

test("close cuts off requests in flight", async () => {
  const sandbox = await startSandbox({ poison: new Map([["t-1", "hang"]]) });
  const client = aClient(sandbox);
  const waiting = client.call("GET", aGroup()).catch(() => "cut");
  await expect.poll(async () => (await client.page("/sandbox/requests")).json.max_in_flight).toBe(1);
  await sandbox.close();
  expect(await waiting).toBe("cut");
});
