import fc from "fast-check";
import { expect, it } from "vitest";
import { cli } from "../src/cli.ts";
import { anIo } from "./commands/an-io.ts";
import { rounds } from "./support/long.ts";

const UNSEEN = /[\p{Cf}\u2028\u2029\u007f-\u009f]/u;

it("shows whatever it was given without a character that nobody sees", async () => {
  const evil = fc.string({
    unit: fc.constantFrom("a", " ", "\u009b", "\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\u{e0041}"),
    minLength: 1,
  });
  await fc.assert(
    fc.asyncProperty(evil, async (text) => {
      for (const args of [[`x${text}`], ["sync", `--${text}`], ["--config", `/no/${text}`, "plan"]]) {
        const { io, printed } = anIo();
        await cli(args, io);
        expect(printed.code).not.toBe(0);
        expect(printed.stderr).not.toBe("");
        expect(printed.stdout + printed.stderr).not.toMatch(UNSEEN);
      }
    }),
    { numRuns: rounds(100) },
  );
});
