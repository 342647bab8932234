import {
  closeSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { describe, SyncError } from "../../core/failure/sync-error.ts";

/** Far more than any config or secret: a larger file is the wrong file, or a device without an end. */
const MOST_BYTES = 1024 * 1024;

/** In the form of an error of the operating system. */
class TooBig extends Error {
  readonly code = "EFBIG";

  constructor(path: string) {
    super(`EFBIG: more than 1 MiB, read '${path}'`);
  }
}

/** Reads a whole file as text. Throws the error of the operating system, or EFBIG if the file has more than 1 MiB. */
export function readTextFile(path: string): string {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(MOST_BYTES + 1);
    let size = 0;
    for (;;) {
      const count = readSync(file, buffer, size, buffer.length - size, null);
      size += count;
      if (size > MOST_BYTES) throw new TooBig(path);
      if (count === 0) return buffer.toString("utf8", 0, size);
    }
  } finally {
    closeSync(file);
  }
}

interface FileAccess {
  /** The permission bits. */
  readonly mode: number;
  readonly uid: number;
}

const OTHERS_READ = 0o004;
const OTHERS_PASS = 0o001;

/**
 * The access to a file that every user of this machine can read. Undefined if the mode of the file or of a folder above
 * it keeps others out, and if there is no such file.
 */
export function readableByAll(path: string): FileAccess | undefined {
  try {
    const real = realpathSync(path);
    const { mode, uid } = statSync(real);
    const isOpen = (mode & OTHERS_READ) !== 0 && foldersAbove(real).every(letsOthersPass);
    return isOpen ? { mode: mode & 0o7777, uid } : undefined;
  } catch {
    return undefined;
  }
}

const letsOthersPass = (folder: string): boolean => (statSync(folder).mode & OTHERS_PASS) !== 0;

function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}

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
