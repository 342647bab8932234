import { describe, expect, it } from "vitest";
import {
  doesUpdate,
  NO_EVIDENCE,
  type Shown,
  type UpdateEvidence,
  withShown,
} from "../../../src/core/apply/update-evidence.ts";

type Step = `${string} ${Shown}`;

const evidenceAfter = (steps: readonly Step[], probe: boolean | null = null): UpdateEvidence =>
  steps.reduce<UpdateEvidence>(
    (evidence, step) => {
      const [id = "", shown] = step.split(" ");
      return withShown(evidence, id, shown === "took" ? "took" : "kept");
    },
    { ...NO_EVIDENCE, probe },
  );

describe("a service", () => {
  it.each<[boolean | null, Step[]]>([
    [null, []],
    [true, ["a took"]],
    [null, ["a kept"]],
    [null, ["a kept", "b kept"]],
    [false, ["a kept", "b kept", "c kept"]],
    [false, ["a kept", "b kept", "c kept", "d kept"]],
    // One group counts once.
    [null, ["a kept", "a kept", "a kept", "a kept"]],
    [null, ["a kept", "b took"]],
    [null, ["a took", "b kept", "c kept", "d kept", "e kept"]],
    [null, ["a kept", "b kept", "c kept", "d took"]],
    // The last answer of a group counts.
    [true, ["a kept", "a took"]],
    [null, ["a took", "a kept"]],
    [false, ["a took", "a kept", "b kept", "c kept"]],
    [true, ["a took", "b took", "c took", "d kept", "d took"]],
  ])("updates groups: %s, after %j", (updates, steps) => {
    expect(doesUpdate(evidenceAfter(steps))).toBe(updates);
    for (const probe of [true, false]) expect(doesUpdate(evidenceAfter(steps, probe))).toBe(probe);
  });

  it("is remembered by three groups of a kind, and nothing new is the same evidence", () => {
    const shown = evidenceAfter(["a took", "b took", "c took", "d took"]);
    expect(shown.took).toEqual(["a", "b", "c"]);
    expect(withShown(shown, "e", "took")).toBe(shown);
    expect(withShown(shown, "a", "took")).toBe(shown);
    expect(withShown({ ...shown, kept: ["d"] }, "d", "took")).toEqual(shown);
  });
});
