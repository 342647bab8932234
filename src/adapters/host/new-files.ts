import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { describe, SyncError } from "../../core/failure/sync-error.ts";

interface NewFile {
  readonly path: string;
  readonly text: string;
}

/** Makes files, and never changes one that is there. */
export interface NewFiles {
  /** Those of the paths at which something is already. Throws CONFIG_NOT_WRITTEN if no file can be made at one of them. */
  existing(paths: readonly string[]): readonly string[];
  /** Makes all of the files or none. Throws CONFIG_NOT_WRITTEN, also if one of them is there already. */
  create(files: readonly NewFile[]): void;
}

export const newFiles: NewFiles = {
  existing(paths) {
    try {
      for (const path of paths) accessSync(dirname(path), constants.W_OK);
      return paths.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
    } catch (cause) {
      throw notWritten(cause);
    }
  },
  create(files) {
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
      throw notWritten(cause);
    }
  },
};

const notWritten = (cause: unknown): SyncError =>
  new SyncError("CONFIG_NOT_WRITTEN", `no file was written: ${describe(cause)}`, {
    hint: "name another place with --output; a file that is there is never overwritten",
    cause,
  });
