import { expect, it } from "vitest";
import { UnnoticedChanges } from "../../../src/daemon/changes/unnoticed-changes.ts";
import type { LogEntry } from "../../../src/ports/log.ts";

function aWatch() {
  const warnings: LogEntry[] = [];
  const changes = new UnnoticedChanges((entry) => warnings.push(entry));
  changes.begin(true);
  return {
    changes,
    warnings,
    syncBegins: () => changes.observe({ kind: "started", run: "1" }),
    changed: (user_group_id: string) =>
      changes.observe({
        ...{ kind: "recorded", user_group_id, result: "updated" },
        ...{ unverified: false, tokenFingerprint: "t" },
      }),
  };
}

it("a tenant that a full sync has changed, and that nobody has noticed by the next one, is named, and none after it", () => {
  const { changes, warnings, syncBegins, changed } = aWatch();
  syncBegins();
  changed("from before anybody could notice");
  syncBegins();
  changes.noticed("before");
  changed("before");
  changed("a moment later");
  changed("never");
  changes.noticed("a moment later");
  expect(warnings).toEqual([]);
  syncBegins();
  expect(warnings).toMatchObject([
    {
      code: "CHANGES_NOT_NOTICED",
      message: expect.stringContaining('"never": 1 in one sync'),
      hint: expect.stringContaining(
        "With source.changes.column, a value below the newest one is not noticed",
      ),
    },
  ]);
  changed("later");
  syncBegins();
  expect(warnings).toHaveLength(1);
});

it("nobody is named if more tenants were noticed than are remembered, or if the config names no feed", () => {
  const { changes, warnings, syncBegins, changed } = aWatch();
  syncBegins();
  syncBegins();
  for (let n = 0; n < 10_000; n++) changes.noticed(`t${n}`);
  changed("unnoticed");
  syncBegins();
  changes.begin(false);
  for (let n = 0; n < 3; n++) {
    changed("unnoticed");
    syncBegins();
  }
  expect(warnings).toEqual([]);
});
