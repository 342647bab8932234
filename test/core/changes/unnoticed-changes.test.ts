import { expect, it } from "vitest";
import { UnnoticedChanges } from "../../../src/core/changes/unnoticed-changes.ts";

it("a tenant that a full sync has changed, and that nobody has noticed by the next one, is named", () => {
  const changes = new UnnoticedChanges();
  expect(changes.syncBegins()).toEqual([]);
  changes.changed("from before anybody could notice");
  expect(changes.syncBegins()).toEqual([]);
  changes.noticed("before");
  changes.changed("before");
  changes.changed("a moment later");
  changes.changed("never");
  changes.noticed("a moment later");
  expect(changes.syncBegins()).toEqual(["never"]);
  expect(changes.syncBegins()).toEqual([]);
});

it("nobody is named if more tenants were noticed than are remembered", () => {
  const changes = new UnnoticedChanges();
  changes.syncBegins();
  changes.syncBegins();
  for (let n = 0; n < 10_000; n++) changes.noticed(`t${n}`);
  changes.changed("unnoticed");
  expect(changes.syncBegins()).toEqual([]);
});
