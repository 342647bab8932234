import { expect, test } from "vitest";
import { composeServing } from "../../src/compose/serving.ts";
import type { LogEntry } from "../../src/ports/log.ts";
import { load, withKeys } from "../config/config-file.ts";

const noticing = load(withKeys({ source: { changes: { channel: "customers_changed" } } }));
const withoutFeeds = load(withKeys({}));

function aComposition() {
  const warnings: LogEntry[] = [];
  const inForce = { config: noticing };
  const never = (): never => {
    throw new Error("nothing is to be contacted");
  };
  const { serving, servingNow, observe } = composeServing({
    config: () => inForce.config,
    host: {
      env: {},
      pid: 1,
      uid: 1,
      isRunning: never,
      terminal: undefined,
      person: never,
      stop: new AbortController().signal,
    },
    log: (entry) => warnings.push(entry),
    observe: () => {},
    syncSoon: () => {},
    isHolder: () => true,
    holder: () => undefined,
  });
  return { inForce, warnings, serving, servingNow, observe };
}

test("tenants are noticed by the same feeds as long as the config names them, and by none after that", async () => {
  const { inForce, serving, servingNow } = aComposition();
  expect(servingNow()).toBeNull();
  const first = await serving();
  expect(first?.noticing).toBeDefined();
  expect((await serving())?.noticing).toBe(first?.noticing);
  expect(servingNow()).toMatchObject({ feeds: { channel: null }, takesRequests: false });
  inForce.config = withoutFeeds;
  expect(await serving()).toBeUndefined();
  expect(servingNow()).toBeNull();
});

test("once the config names no feed, nobody is warned of changes that were not noticed", async () => {
  const { inForce, warnings, serving, observe } = aComposition();
  await serving();
  for (const id of ["a", "b"]) {
    observe({ kind: "started", run: "1" });
    observe({
      ...{ kind: "recorded", user_group_id: id, result: "updated" },
      ...{ unverified: false, tokenFingerprint: "t" },
    });
  }
  inForce.config = withoutFeeds;
  await serving();
  observe({ kind: "started", run: "3" });
  expect(warnings).toEqual([]);
});
