import { realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";

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
