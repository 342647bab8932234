import type { DialogStreams } from "../adapters/terminal/ask.ts";
import type { Terminal } from "../adapters/terminal/progress-bar.ts";

/** What the adapters need from the process. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** The user that owns the files that this process writes. */
  readonly uid: number;
  readonly isRunning: (pid: number) => boolean;
  /** Standard error, if it is a terminal. */
  readonly terminal: Terminal | undefined;
  /** Opens standard input. Undefined unless a person can answer there and read standard output. */
  readonly person: () => DialogStreams | undefined;
  /** Aborts when the process is told to stop. Reads end then, whatever they wait for. */
  readonly stop: AbortSignal;
}

/** Asks a person, and resolves to the line that was typed. */
export type Ask = (question: string) => Promise<string>;

/** Undefined if nobody is there to ask. */
export function askAtTerminal({ person, stop }: Host): Ask | undefined {
  const streams = person();
  if (!streams) return undefined;
  return async (question) => {
    const { askLine } = await import("../adapters/terminal/ask.ts");
    return askLine(question, streams, stop);
  };
}
