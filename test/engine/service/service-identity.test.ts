import { describe, expect, it } from "vitest";
import { NO_EVIDENCE, type UpdateEvidence } from "../../../src/core/apply/update-evidence.ts";
import { ServiceIdentity } from "../../../src/engine/service/service-identity.ts";
import type { BoundService, KnownService } from "../../../src/ports/ledger/scope.ts";

const URL = "https://dashboards.example.com";
const shown: UpdateEvidence = { ...NO_EVIDENCE, took: ["a"] };
const bound = (overrides: Partial<BoundService> = {}): BoundService => ({
  baseUrl: URL,
  teamId: 7,
  evidence: NO_EVIDENCE,
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
    identity.learn("a", "took");
    identity.recorded(unrecorded);
    expect(identity.unrecorded).toEqual(bound({ evidence: shown }));
  });

  it("has to be recorded until it is", () => {
    const identity = new ServiceIdentity(known(), URL);
    identity.learn("a", "took");
    const { unrecorded } = identity;
    if (unrecorded) identity.recorded(unrecorded);
    expect(unrecorded).toEqual(bound({ evidence: shown }));
    expect(identity.unrecorded).toBeUndefined();
  });

  it("needs no record if the ledger knows it already", () => {
    const identity = new ServiceIdentity(known({ evidence: shown }), URL);
    identity.confirmTeam(7);
    identity.learn("a", "took");
    expect([identity.confirmed, identity.unrecorded]).toEqual([true, undefined]);
  });

  it("includes what a group shows, as soon as that is seen", () => {
    const identity = new ServiceIdentity(known(), URL);
    identity.learn("a", "took");
    expect(identity.updates).toBe(true);
  });

  it("takes what a probe says, whatever was known", () => {
    const identity = new ServiceIdentity(known({ evidence: shown }), URL);
    identity.learnFromProbe(undefined);
    expect(identity.unrecorded).toBeUndefined();
    identity.learnFromProbe(false);
    expect(identity.unrecorded).toEqual(bound({ evidence: { ...shown, probe: false } }));
  });

  it("stops a run against another address, naming both", () => {
    expect(() => new ServiceIdentity(known(), "https://staging.example.com")).toThrow(
      expect.objectContaining({ code: "SERVICE_CHANGED", message: expect.stringContaining(URL) }),
    );
  });

  it("stops a run whose key belongs to another team, whose answer is no sign of life", () => {
    const identity = new ServiceIdentity(known(), URL);
    identity.answered(new Date());
    expect(() => identity.confirmTeam(8)).toThrow(
      expect.objectContaining({ code: "TEAM_CHANGED", message: expect.stringContaining("for team 8") }),
    );
    expect([identity.confirmed, identity.unrecorded]).toEqual([false, undefined]);
    expect(identity.unrecordedAnswer).toBeUndefined();
  });
});
