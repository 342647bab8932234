import { expect, it } from "vitest";
import { RecentCommits } from "../../../src/engine/durability/recent-commits.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const commit = { change: null, token: null };

it("a commit becomes a suspect if a connection breaks within ten seconds", async () => {
  const time = new VirtualTime();
  const recent = new RecentCommits(new VirtualClock(time));
  const connections = { broken: 0 };
  recent.beginRun(connections);
  recent.add("old", commit);
  await time.sleep(10_001);
  recent.add("young", commit);
  recent.add("settled", commit);
  recent.forget("settled");
  connections.broken++;
  recent.add("new", commit);
  expect([...recent.suspects.keys()]).toEqual(["young"]);
  connections.broken++;
  expect([...recent.suspects.keys()]).toEqual(["young", "new"]);
});

it("a run suspects the last commits of the run before it, until they are checked", () => {
  const recent = new RecentCommits(new VirtualClock(new VirtualTime()));
  recent.beginRun({ broken: 0 });
  recent.add("a", commit);
  recent.add("b", commit);
  recent.beginRun({ broken: 0 });
  expect([...recent.suspects]).toEqual([
    ["a", expect.objectContaining({ isEarlier: true })],
    ["b", expect.objectContaining({ isEarlier: true })],
  ]);
  const checked = new Map(recent.suspects);
  recent.add("b", commit);
  recent.checked(checked);
  expect(recent.suspects.size).toBe(0);
});
