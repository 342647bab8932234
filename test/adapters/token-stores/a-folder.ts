import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { FileStore, type FileStoreOptions } from "../../../src/adapters/token-stores/file-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { formatMark } from "../../../src/core/tokens/destination.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

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

export function aFolder(mode = 0o700): string {
  const folder = temporaryFolder();
  chmodSync(folder, mode);
  return folder;
}

export const KEY = "key-of-an-api";

export function aKeyFile(): string {
  const key = join(aFolder(), "key");
  writeFileSync(key, KEY, { mode: 0o600 });
  onTestFinished(() => expect(readFileSync(key, "utf8")).toBe(KEY));
  return key;
}

/** A store that has one token, in a directory with this mode. */
export async function aStore(mode = 0o700, sharedDirectory = false) {
  const directory = aFolder(mode);
  const store = aFileStore(directory, { sharedDirectory });
  await store.prepare();
  await put(store, "folder/a");
  return { directory, store };
}

/** Writes the owner's mark of a config. */
export const claim = (store: FileStore, name = "default") =>
  store.put(
    store.owner,
    new Secret(formatMark({ name, baseUrl: "https://service", teamId: 1, ledgerId: "L1" })),
    () => false,
  );

export const put = (store: ReturnType<typeof aFileStore>, name: string) =>
  store.put(name, new Secret("token"), () => false);
