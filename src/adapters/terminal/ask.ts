import type { Readable, Writable } from "node:stream";

/** A terminal at which a person reads and types. */
export interface DialogStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Asks for one line, and resolves to what was typed; to an empty text at the end of the input, or once `stop` aborts. Works on
 * every terminal, also on one without a size. The terminal stays in its usual mode, so Ctrl-C is a signal.
 */
export async function askLine(
  question: string,
  { input, output }: DialogStreams,
  stop: AbortSignal,
): Promise<string> {
  const { createInterface } = await import("node:readline");
  const lines = createInterface({ input, terminal: false, signal: stop });
  output.write(question);
  try {
    return await new Promise((resolve) => {
      lines.once("line", resolve).once("close", () => resolve(""));
    });
  } finally {
    lines.close();
  }
}
