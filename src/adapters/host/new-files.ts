import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from "node:fs";
import { describe, SyncError } from "../../core/failure/sync-error.ts";

export interface NewFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Makes all of the files or none, and never changes one that is there. Throws CONFIG_NOT_WRITTEN, also if one of them is there
 * already.
 */
export function createFiles(files: readonly NewFile[]): void {
  const made: string[] = [];
  try {
    // Make all of the files before any of them gets its text: a name that is taken shows before anything is written.
    const open = files.map(({ path, text }) => {
      const file = openSync(path, "wx");
      made.push(path);
      return { file, text };
    });
    for (const { file, text } of open) {
      writeFileSync(file, text);
      fsyncSync(file);
      closeSync(file);
    }
  } catch (cause) {
    for (const path of made) rmSync(path, { force: true });
    throw new SyncError("CONFIG_NOT_WRITTEN", `no file was written: ${describe(cause)}`, {
      hint: "move what is there, or name another place with --output: init overwrites nothing",
      cause,
    });
  }
}
