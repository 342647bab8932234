import { randomBytes } from "node:crypto";
import { access, constants, link, lstat, opendir, readdir, rename, rm, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describe, SyncError } from "../../core/failure/sync-error.ts";
import { Secret } from "../../core/secret/secret.ts";
import { dangerWithin, type Trust } from "../../core/tokens/directory-trust.ts";
import { SECRET_NAMING } from "../../core/tokens/secrets.ts";
import {
  entryAt,
  entryOf,
  insistOnOwnFile,
  isThere,
  makeFolder,
  readOwnFile,
  syncFolder,
  writeDurably,
} from "./safe-files.ts";
import { type FoundSecret, notManaged, type SecretStore, SecretStoreFailure } from "./secret-store.ts";
import { MARK, OWNER, ownDirectory, ownerOfDirectory, unmark } from "./token-directory.ts";
import { systemCodeOf } from "./vendor-client.ts";

export interface FileStoreOptions {
  readonly directory: string;
  /** Whether the directory may be writable by its group. */
  readonly sharedDirectory: boolean;
  /** The config's name: a directory belongs to one config. */
  readonly scope: string;
  /** This process's user: nobody but this user and root may change the directory. */
  readonly uid: number;
}

/** The name of a file until it is complete. */
const UNFINISHED = /^[0-9a-f]{16}$/;

/**
 * One file for each secret, in a directory of groupsync's own. The files are readable by their owner alone: for their
 * permissions, see `writeDurably`.
 */
export class FileStore implements SecretStore {
  readonly naming = SECRET_NAMING.file;
  readonly owner = `${MARK}/${OWNER}`;
  readonly #directory: string;
  readonly #scope: string;
  readonly #trust: Trust;

  constructor({ directory, sharedDirectory, scope, uid }: FileStoreOptions) {
    this.#directory = resolve(directory);
    this.#scope = scope;
    this.#trust = { uid, isShared: sharedDirectory };
  }

  get title(): string {
    return `the directory ${this.#directory}`;
  }

  inspect(): Promise<void> {
    return orUnavailable(async () => {
      await ownDirectory(this.#directory, this.#trust);
      const mark = this.#pathOf(MARK);
      const isMarked = await isThere(mark);
      if (!isMarked && (await isThere(this.#directory)) && !(await isEmpty(this.#directory))) throw notOurs();
      for (const folder of [this.#directory, mark])
        await access(await nearest(folder), constants.W_OK | constants.X_OK);
    });
  }

  async prepare(): Promise<void> {
    await this.inspect();
    await orUnavailable(async () => {
      const mark = this.#pathOf(MARK);
      await makeFolder(mark);
      // Check again: somebody else may have made what was missing.
      await ownDirectory(this.#directory, this.#trust);
      if (await isThere(this.#pathOf(MARK.toUpperCase()))) throw foldsCase();
      // Remove what a process that died has left half written.
      for (const entry of await readdir(mark, { withFileTypes: true }))
        if (entry.isFile() && UNFINISHED.test(entry.name)) await rm(join(mark, entry.name), { force: true });
    });
  }

  async get(name: string): Promise<FoundSecret | undefined> {
    if (name === this.owner) return (await this.#marked())?.owner;
    try {
      await this.#insistOnFoldersOf(name);
      const content = await readOwnFile(this.#pathOf(name), this.#trust);
      return content === undefined ? undefined : { content: new Secret(content), isManaged: true };
    } catch (error) {
      throw failureOf(error, ["EACCES", "ENAMETOOLONG", "ENXIO"]);
    }
  }

  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    const found = await this.get(name);
    if (found && !found.isManaged) throw notManaged(name);
    if (found && isGood(found.content)) return;
    const path = this.#pathOf(name);
    const unfinished = this.#unfinished();
    try {
      await orUnavailable(async () => {
        await makeFolder(dirname(path));
        await writeDurably(unfinished, content.reveal());
      });
      // A rename is atomic: a reader sees the old content or the new.
      const place = name === this.owner && !found ? linkOrRename : rename;
      await place(unfinished, path).catch((error: unknown) => {
        throw systemCodeOf(error) === "ENOENT"
          ? cleanedAway()
          : failureOf(error, ["EISDIR", "EEXIST", "EPERM"]);
      });
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await orUnavailable(() => syncFolder(dirname(path)));
  }

  async remove(name: string): Promise<void> {
    const path = this.#pathOf(name);
    try {
      await this.#insistOnFoldersOf(name);
      insistOnOwnFile(entryOf(path, await lstat(path)), this.#trust);
      await unlink(path);
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return;
      throw failureOf(error, ["EPERM", "ENAMETOOLONG"]);
    }
    await orUnavailable(() => syncFolder(dirname(path)));
  }

  async release(): Promise<string> {
    return unmark((await this.#marked())?.folder ?? this.#directory);
  }

  async close(): Promise<void> {}

  #marked() {
    return orUnavailable(() => ownerOfDirectory(this.#directory, this.#scope, this.#trust));
  }

  #unfinished(): string {
    return join(this.#pathOf(MARK), randomBytes(8).toString("hex"));
  }

  #pathOf(name: string): string {
    return join(this.#directory, name);
  }

  /** Rejects if a folder of the path is a link, which would lead to files elsewhere. */
  async #insistOnFoldersOf(name: string): Promise<void> {
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
      const entry = await entryAt(this.#pathOf(folder));
      const danger = entry && dangerWithin(entry, this.#trust);
      if (danger) throw new SecretStoreFailure("unavailable", danger.what, danger.remedy);
    }
  }
}

/**
 * Fails if the file exists: of two processes at once, one notices the other. Renames on a file system without links.
 */
async function linkOrRename(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
    await unlink(from);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT" || systemCodeOf(error) === "EEXIST") throw error;
    await rename(from, to);
  }
}

async function isEmpty(path: string): Promise<boolean> {
  for await (const _ of await opendir(path)) return false;
  return true;
}

async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error, []);
  }
}

/**
 * Safe to show: the operating system's errors quote paths and never content. `ofOneFile`: codes that concern this file
 * alone.
 */
function failureOf(error: unknown, ofOneFile: readonly string[]): SecretStoreFailure | SyncError {
  if (error instanceof SecretStoreFailure || error instanceof SyncError) return error;
  return ofOneFile.includes(systemCodeOf(error))
    ? new SecretStoreFailure("refused", describe(error), "see what is there, and whose it is")
    : new SecretStoreFailure(
        "unavailable",
        describe(error),
        "may this user read and write there, and is there space left? If not, name another tokens.directory",
      );
}

/** Another process has prepared the directory meanwhile. */
const cleanedAway = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "passing",
    "somebody has removed an unfinished file",
    `leave ${MARK} alone, and give each groupsync a directory of its own`,
  );

const notOurs = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    "it holds files that groupsync hasn't written",
    "name an empty directory, or one that isn't there yet, in tokens.directory: on a volume of its own, a folder in it",
  );

const foldsCase = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    "its file system takes A and a for one: tenants would get each other's tokens",
    "name a directory on a file system that tells them apart",
  );

/** The path itself if it is there, else the nearest directory above it that is. */
async function nearest(path: string): Promise<string> {
  const above = dirname(path);
  return above === path || (await isThere(path)) ? path : nearest(above);
}
