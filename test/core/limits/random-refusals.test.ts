import { expect, test } from "vitest";
import { RandomRefusalDetector } from "../../../src/core/limits/random-refusals.ts";

/** Plays answers (`.`) and refusals (`x`). For each refusal: `r` if it may be random, `L` if a limit is behind it. */
function play(detector: RandomRefusalDetector, calls: string): string {
  return [...calls]
    .map((call) => {
      if (call === "x") return detector.refused() ? "r" : "L";
      detector.answered();
      return "";
    })
    .join("");
}

test.each([
  ["single refusals are random", "x.....x.....x", "rrr"],
  ["the sixth refusal in a row comes from a limit", "xxxxxxx", "rrrrrLL"],
  ["an answer interrupts a row", "xxxxx.xxxxx", "rrrrrrrrrr"],
  ["16 refusals among 50 calls come from a limit", "x..".repeat(17), `${"r".repeat(15)}LL`],
  ["refusals that are further apart stay random", "x...".repeat(30), "r".repeat(30)],
])("%s", (_, calls, expected) => {
  expect(play(new RandomRefusalDetector(), calls)).toBe(expected);
});

test("once slowing down has ended the refusals, the next ones come from the limit at once", () => {
  const detector = new RandomRefusalDetector();
  expect(play(detector, `xxxxxx${".".repeat(50)}`)).toBe("rrrrrL");
  expect(play(detector, "x.")).toBe("L");
});

test("refusals that go on at any rate are random again after three more attempts to slow down", () => {
  const detector = new RandomRefusalDetector();
  play(detector, `xxxxxx${".".repeat(50)}`);
  expect(play(detector, "x...x...x...x...x")).toBe("LLLrr");
});
