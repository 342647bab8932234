import { statSync } from "node:fs";
import { FileStore, type FileStoreOptions } from "../../../../src/adapters/token-stores/file/file-store.ts";

/** Root's number in a user namespace that root isn't in; else 0. */
const ROOT = statSync("/").uid;

export const aFileStore = (directory: string, options: Partial<FileStoreOptions> = {}): FileStore =>
  new FileStore({
    directory,
    sharedDirectory: false,
    scope: "default",
    uid: process.geteuid?.() || ROOT,
    ...options,
  });
