import type { ExitCode } from "../core/exit-code.ts";

/** What a command may touch of the process it runs in. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Colours and drawn lines are wanted on standard output. */
  readonly isTerminal: boolean;
  /** Aborted when the process is told to stop. */
  readonly signal: AbortSignal;
  /** Calls the listener each time that the process is told to read its config again (SIGHUP), and for one that came before. */
  readonly onReload: (listener: () => void) => void;
  /** From now on a SIGHUP ends the process, as when its terminal is closed; so does one that came before. */
  readonly endOnHangUp: () => void;
  /** Has the listener told of what Node.js warns of, in place of whoever was told of it so far. */
  readonly onWarning: (listener: (warning: Error) => void) => void;
  /** Ends the process at once, whatever is under way. */
  readonly quit: (code: ExitCode) => void;
  /** The code that the process will exit with, where it is not 0. */
  readonly finish: (code: ExitCode) => void;
}

/** A port, or several, and how to give their connections back. */
export interface Opened<T> {
  readonly value: T;
  close(): Promise<void>;
}

/** Gives the connections back whatever becomes of `body`. */
export async function using<T>(opened: Opened<T>, body: (value: T) => Promise<void>): Promise<void> {
  try {
    await body(opened.value);
  } finally {
    await opened.close();
  }
}
