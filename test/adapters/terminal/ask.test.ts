import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { askLine } from "../../../src/adapters/terminal/ask.ts";

function aTerminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  const stop = new AbortController();
  return { input, output, stop, answer: askLine("Go on? ", { input, output }, stop.signal) };
}

test("a question is asked, and one line answers it", async () => {
  const { input, output, answer } = aTerminal();
  input.write("yes, of cour");
  input.write("se\nand more\n");
  expect(await answer).toBe("yes, of course");
  expect(output.read()?.toString()).toBe("Go on? ");
});

test("the end of the input and a signal to stop are empty answers", async () => {
  const ended = aTerminal();
  ended.input.end();
  expect(await ended.answer).toBe("");
  const stopped = aTerminal();
  setImmediate(() => stopped.stop.abort());
  expect(await stopped.answer).toBe("");
});
