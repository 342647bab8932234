import { describe, expect, test } from "vitest";
import { aBrokenWay, anAliveWay, aServingState } from "../../builders/daemon-state.ts";
import { aHealthyDaemon, minutesAgo, secondsAgo } from "../a-healthy-daemon.ts";
import { aStandby, headlineOf, pageOf, readOf } from "./shown-page.ts";

const broken = (since: Date) =>
  aHealthyDaemon({
    serving: aServingState({
      ways: {
        column: anAliveWay(),
        channel: aBrokenWay(since, {
          code: "CHANGES_NOT_HEARD",
          message: "no notification <b> arrives",
          hint: "write a direct url",
        }),
      },
    }),
  });

describe("single tenants", () => {
  test("have no section if none are served", () => {
    expect(pageOf(aHealthyDaemon())).not.toContain("Between two syncs");
  });

  test("have each way in which they are noticed, and how they are served", () => {
    const serving = aServingState({
      ways: { column: { kind: "alive", since: minutesAgo(3) }, channel: null },
      served: { count: 1_204, last: { at: secondsAgo(3), ms: 84 } },
      oldestMs: 42_000,
    });
    const text = readOf(aHealthyDaemon({ serving }));
    expect(text).toContain(
      "Between two syncs source.changes.column works since 3 min ago (2026-03-01 11:59:30) POST /sync accepted",
    );
    expect(text).toContain(
      "Served 1 204 tenants the last one 3 s ago, 84 ms after it was noticed Longest wait now 42 s",
    );
    expect(text).not.toContain("source.changes.channel");
  });

  test("may be noticed in a way that works, though something is to be mended", () => {
    const warning = { code: "CHANGES_FAR_AHEAD", message: "the value <b> is", hint: "write the right value" };
    const column = { kind: "alive", since: minutesAgo(3), warning } as const;
    const serving = aServingState({ ways: { column, channel: null } });
    expect(readOf(aHealthyDaemon({ serving }))).toContain(
      "works since 3 min ago (2026-03-01 11:59:30) . CHANGES_FAR_AHEAD: the value <b> is ; write the right value",
    );
  });

  test("are served by another instance while this one stands by", () => {
    const serving = aServingState({ ways: { column: { kind: "off" }, channel: null }, oldestMs: 42_000 });
    const text = readOf(aHealthyDaemon({ serving, standby: aStandby }));
    expect(text).toContain("source.changes.column off Another instance holds the lease");
    expect(text).toContain("POST /sync handed on to the instance that holds the lease Served 0 tenants");
    expect(text).not.toContain("Longest wait");
  });
});

describe("a way that doesn't work", () => {
  test("says since when, why, and what helps", () => {
    expect(readOf(broken(minutesAgo(5)))).toContain(
      "source.changes.channel broken since 5 min ago (2026-03-01 11:57:30) . CHANGES_NOT_HEARD: no notification <b> arrives ; write a direct url",
    );
  });

  test("needs attention once it has lasted", () => {
    expect(headlineOf(broken(minutesAgo(1)))).toEqual([
      "attention",
      "Needs attention: source.changes.channel doesn't work. Full syncs find what is missed; until the next one, a tenant that only this would notice has no token. The reason",
    ]);
    expect(headlineOf(broken(secondsAgo(59)))[0]).toBe("good");
  });
});
