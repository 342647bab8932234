import type { ExitCode } from "../core/report/exit-code.ts";

/** What a command may use of its process. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Whether standard output shows colours. */
  readonly isTerminal: boolean;
  /** Aborts when the process is told to stop. */
  readonly signal: AbortSignal;
  /** Calls the listener for each SIGHUP, and for one that came before the listener was set. */
  readonly onReload: (listener: () => void) => void;
  /** Makes a SIGHUP end the process, as when its terminal is closed. A SIGHUP that came before counts too. */
  readonly endOnHangUp: () => void;
  /** Passes the warnings of Node.js to this listener instead of printing them. */
  readonly onWarning: (listener: (warning: Error) => void) => void;
  /** Ends the process at once, even if something is under way. */
  readonly quit: (code: ExitCode) => void;
  /** Sets the exit code of the process. It is 0 if this is never called. */
  readonly finish: (code: ExitCode) => void;
}

/** One port or several, with a way to close their connections. */
export interface Opened<T> {
  readonly value: T;
  close(): Promise<void>;
}

/** Runs `body`, then closes the connections, even if `body` throws. */
export async function using<T>(opened: Opened<T>, body: (value: T) => Promise<void>): Promise<void> {
  try {
    await body(opened.value);
  } finally {
    await opened.close();
  }
}
