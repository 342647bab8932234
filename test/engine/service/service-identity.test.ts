import { describe, expect, it } from "vitest";
import { ServiceIdentity } from "../../../src/engine/service/service-identity.ts";
import type { BoundService, KnownService } from "../../../src/ports/ledger/scope.ts";

const URL = "https://dashboards.example.com";
const bound = (overrides: Partial<BoundService> = {}): BoundService => ({
  baseUrl: URL,
  teamId: 7,
  updates: null,
  isProbed: false,
  ...overrides,
});
const known = (overrides: Partial<BoundService> = {}): KnownService => ({
  ...bound(overrides),
  answeredAt: null,
});

describe("the service's identity", () => {
  it("is learned from the first answer, and stays unrecorded if it changes during the record", () => {
    const identity = new ServiceIdentity(known({ baseUrl: null, teamId: null }), URL);
    expect([identity.confirmed, identity.unrecorded]).toEqual([false, undefined]);
    identity.confirmTeam(7);
    expect(identity.confirmed).toBe(true);
    const { unrecorded = bound({ teamId: null }) } = identity;
    expect(unrecorded).toEqual(bound());
    expect(identity.unrecorded).toEqual(bound());
    identity.learnUpdates(true);
    identity.recorded(unrecorded);
    expect(identity.unrecorded).toEqual(bound({ updates: true }));
  });

  it("takes no answer to another team for a sign of life", () => {
    const identity = new ServiceIdentity(known(), URL);
    identity.answered(new Date());
    expect(() => identity.confirmTeam(8)).toThrow("the service answered for team 8");
    expect(identity.unrecordedAnswer).toBeUndefined();
  });

  it("has to be recorded until it is", () => {
    const identity = new ServiceIdentity(known(), URL);
    identity.learnUpdates(true);
    const { unrecorded } = identity;
    if (unrecorded) identity.recorded(unrecorded);
    expect(unrecorded).toEqual(bound({ updates: true }));
    expect(identity.unrecorded).toBeUndefined();
  });

  it("needs no record if the ledger knows it already", () => {
    const identity = new ServiceIdentity(known({ updates: true }), URL);
    identity.confirmTeam(7);
    identity.learnUpdates(undefined);
    identity.learnUpdates(true);
    expect([identity.confirmed, identity.unrecorded]).toEqual([true, undefined]);
  });

  it("includes whether a GET updates, as soon as that is seen", () => {
    const identity = new ServiceIdentity(known(), URL);
    identity.learnUpdates(false);
    expect(identity.updates).toBe(false);
    expect(identity.unrecorded).toEqual(bound({ updates: false }));
  });

  it.each<[string, Partial<BoundService>, boolean, boolean]>([
    ["nothing was known", {}, true, true],
    ["nothing was known", {}, false, false],
    ["another group was kept", { updates: false }, true, true],
    ["an update was taken", { updates: true }, false, true],
    ["a probe says that it updates", { updates: true, isProbed: true }, false, true],
    ["a probe says that it keeps", { updates: false, isProbed: true }, true, false],
  ])("if %s (%j), a group that says %s leaves it at %s", (_, before, shown, after) => {
    const identity = new ServiceIdentity(known(before), URL);
    identity.learnUpdates(shown);
    expect(identity.updates).toBe(after);
  });

  it("takes what a probe says, whatever was known", () => {
    const identity = new ServiceIdentity(known({ updates: true }), URL);
    identity.learnFromProbe(undefined);
    expect(identity.unrecorded).toBeUndefined();
    identity.learnFromProbe(false);
    expect(identity.unrecorded).toEqual(bound({ updates: false, isProbed: true }));
  });

  it("stops a run against another address, naming both", () => {
    expect(() => new ServiceIdentity(known(), "https://staging.example.com")).toThrow(
      expect.objectContaining({ code: "SERVICE_CHANGED", message: expect.stringContaining(URL) }),
    );
  });

  it("stops a run whose key belongs to another team", () => {
    const identity = new ServiceIdentity(known(), URL);
    expect(() => identity.confirmTeam(8)).toThrow(expect.objectContaining({ code: "TEAM_CHANGED" }));
    expect([identity.confirmed, identity.unrecorded]).toEqual([false, undefined]);
  });
});
