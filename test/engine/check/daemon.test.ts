import { describe, expect, test } from "vitest";
import { addressFindings, scheduleFindings } from "../../../src/engine/check/daemon.ts";
import type { AddressUse } from "../../../src/ports/check.ts";
import { allOf, signsOf } from "./findings.ts";

test("the next syncs are told by the clock of the schedule's zone", async () => {
  const ticks = [new Date("2026-03-28T23:30:00Z"), new Date("2026-03-29T23:30:00Z")];
  const [found] = await allOf(scheduleFindings({ line: "30 0 * * *", timezone: "Europe/Berlin" }, ticks));
  expect(found).toMatchObject({ level: "ok" });
  expect(found?.message).toContain("Sun, 29 Mar 2026, 00:30:00; Mon, 30 Mar 2026, 01:30:00");
});

describe("the daemon's address", () => {
  const listen = { host: "::1", port: 8080 };
  const find = (use: AddressUse) =>
    allOf(addressFindings({ use: async () => use }, { name: "default", listen }));

  test("is well if it is free, or if the config's own daemon has it", async () => {
    expect(await find({ kind: "free" })).toEqual([{ level: "ok", message: "[::1]:8080 is free" }]);
    expect(signsOf(await find({ kind: "groupsync", name: "default" }))).toEqual(["✓"]);
    const off = addressFindings({ use: async () => ({ kind: "free" }) }, { name: "default", listen: "off" });
    expect(signsOf(await allOf(off))).toEqual(["✓"]);
  });

  test("is a failure if another config's daemon has it, or another program", async () => {
    expect(await find({ kind: "groupsync", name: "staging" })).toMatchObject([
      {
        level: "failure",
        message: expect.stringContaining('"staging"'),
        hint: expect.stringContaining("another port"),
      },
    ]);
    expect(await find({ kind: "refused", reason: "EADDRINUSE" })).toMatchObject([
      {
        level: "failure",
        message: expect.stringContaining("EADDRINUSE"),
        hint: expect.stringContaining("http.listen"),
      },
    ]);
  });
});
