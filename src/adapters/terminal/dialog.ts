import type { Readable, Writable } from "node:stream";
import { autocomplete, isCancel, password, text } from "@clack/prompts";
import { SyncError } from "../../core/failure/sync-error.ts";
import { printable } from "../../core/text/printable.ts";
import type { Dialog, DialogOption } from "../../ports/setup.ts";

/** A terminal at which a person reads and types. */
export interface DialogStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** The most options that are shown at once. */
const MOST_SHOWN = 10;

/** Asks questions at a terminal. Once `stop` aborts, the open question is cancelled. */
export function terminalDialog({ input, output }: DialogStreams, stop: AbortSignal): Dialog {
  const shared = { input, output, signal: stop };
  return {
    choose: async (question, options, preset) =>
      answered(
        await autocomplete({
          ...shared,
          message: printable(question),
          options: options.map(shown),
          initialValue: preset,
          maxItems: MOST_SHOWN,
          placeholder: "type to search",
        }),
      ),
    ask: async (question, example, problem) =>
      answered(
        await text({
          ...shared,
          message: printable(question),
          placeholder: `such as ${printable(example)}`,
          defaultValue: "",
          validate: (answer) => problem(answer ?? ""),
        }),
      ),
    askSecret: async (question, problem) =>
      answered(
        await password({
          ...shared,
          message: printable(question),
          validate: (answer) => problem(answer ?? ""),
        }),
      ),
  };
}

const shown = ({ value, hint }: DialogOption) => ({
  value,
  label: printable(value),
  ...(hint !== undefined && { hint: printable(hint) }),
});

function answered<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new SyncError("INTERRUPTED", "cancelled; nothing was changed");
  return answer as Exclude<T, symbol>;
}
