import { expect, test } from "vitest";
import { notifyFindings, scheduleFinding, type TrySending } from "../../../src/engine/check/daemon.ts";
import { allOf, signsOf } from "./findings.ts";

test("the next syncs are told by the clock of the schedule's zone", () => {
  const times = [new Date("2026-03-28T23:30:00Z"), new Date("2026-03-29T23:30:00Z")];
  const found = scheduleFinding({ line: "30 0 * * *", timezone: "Europe/Berlin" }, times);
  expect(found).toMatchObject({ level: "ok" });
  expect(found.message).toContain("Sun, 29 Mar 2026, 00:30:00; Mon, 30 Mar 2026, 01:30:00");
});

const BOTH = { name: "default", webhook: true, heartbeat: true };

/** What is found, and what is sent; `fails` says what the daemon would log of it. */
async function notified(receivers: Partial<typeof BOTH>, fails: string[] = []) {
  const sent: string[] = [];
  const trySending: TrySending = async (send) => {
    await send({
      tell: async (message) => void sent.push(message),
      beat: async () => void sent.push("a beat"),
      unreached: [],
      reachedAt: {},
    });
    return fails.map((message) => ({ level: "warn", code: "NOTIFY_FAILED", message, hint: "check it" }));
  };
  return { found: await allOf(notifyFindings({ ...BOTH, ...receivers }, trySending)), sent };
}

test("without --notify nothing is sent, and what is configured is told", async () => {
  const found = await allOf(notifyFindings({ ...BOTH, heartbeat: false }, null));
  expect(found.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    "ok: notify.webhook is set; check --notify sends a test message there",
    "ok: notify.heartbeat is not set",
  ]);
});

test("with --notify each that is set gets one test, which says that it is one", async () => {
  const both = await notified({});
  expect(signsOf(both.found)).toEqual(["✓", "✓"]);
  expect(both.sent).toEqual([expect.stringContaining("groupsync default: this is a test"), "a beat"]);
  expect((await notified({ webhook: false })).sent).toEqual(["a beat"]);
});

test("what the daemon would log is a failure", async () => {
  const { found } = await notified({ heartbeat: false }, ["notify.webhook was not reached: HTTP 404"]);
  expect(found[0]).toEqual({
    level: "failure",
    code: "NOTIFY_FAILED",
    message: "notify.webhook was not reached: HTTP 404",
    hint: "check it",
  });
});
