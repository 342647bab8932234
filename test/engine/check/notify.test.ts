import { expect, test } from "vitest";
import { notifyFindings, type TrySending } from "../../../src/engine/check/notify.ts";
import { allOf, signsOf } from "./findings.ts";

const BOTH = { name: "default", webhook: true, heartbeat: true };

/** Remembers what was sent; `fails` says what the daemon would log of it. */
function aTrial(fails: string[] = []) {
  const sent: string[] = [];
  const trySending: TrySending = async (send) => {
    await send({
      tell: async (message) => void sent.push(message),
      beat: async () => void sent.push("a beat"),
      unreached: [],
    });
    return fails.map((message) => ({
      level: "warn",
      code: "NOTIFY_FAILED",
      message,
      hint: "check the address",
    }));
  };
  return { sent, trySending };
}

test("without --notify nothing is sent, and what is configured is told", async () => {
  const found = await allOf(notifyFindings({ ...BOTH, heartbeat: false }, null));
  expect(found.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    "ok: notify.webhook is set; check --notify sends a test message there",
    "ok: notify.heartbeat is not set",
  ]);
});

test("with --notify both get one test, which says that it is one", async () => {
  const { sent, trySending } = aTrial();
  expect(signsOf(await allOf(notifyFindings(BOTH, trySending)))).toEqual(["✓", "✓"]);
  expect(sent).toEqual([expect.stringContaining("groupsync default: this is a test"), "a beat"]);
});

test("an address that is not set gets nothing", async () => {
  const { sent, trySending } = aTrial();
  const set = { name: "default", webhook: false, heartbeat: true };
  expect(signsOf(await allOf(notifyFindings(set, trySending)))).toEqual(["✓", "✓"]);
  expect(sent).toEqual(["a beat"]);
});

test("what the daemon would log is a failure", async () => {
  const { trySending } = aTrial(["notify.webhook was not reached: HTTP 404"]);
  const [first] = await allOf(notifyFindings({ ...BOTH, heartbeat: false }, trySending));
  expect(first).toEqual({
    level: "failure",
    code: "NOTIFY_FAILED",
    message: "notify.webhook was not reached: HTTP 404",
    hint: "check the address",
  });
});
