import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import {
  access,
  lstat,
  mkdir,
  open,
  opendir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  unlink,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describe } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import { SECRET_NAMING } from "../../core/secret-naming-by-store.ts";
import { type FoundSecret, type SecretStore, SecretStoreFailure } from "./secret-store.ts";
import { systemCodeOf } from "./system-error.ts";

export interface FileStoreOptions {
  readonly directory: string;
  /** The config's name: a directory is for one. */
  readonly scope: string;
}

/** A folder that marks a directory as groupsync's, for files have no tags. Files are in it until they are whole. */
const MARK = ".groupsync";
/** In that folder, a file that says whose directory it is. */
const OWNER = "name";
const OWNER_ONLY = { folder: 0o700, file: 0o600 };
/** Neither what a link points to nor whoever is at the other end of a pipe. */
const THE_FILE_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** One file for each secret, for its owner's eyes alone, in a directory of groupsync's own. */
export class FileStore implements SecretStore {
  readonly naming = SECRET_NAMING.file;
  readonly #directory: string;
  readonly #scope: string;

  constructor({ directory, scope }: FileStoreOptions) {
    this.#directory = resolve(directory);
    this.#scope = scope;
  }

  get title(): string {
    return `the directory ${this.#directory}`;
  }

  async prepare(): Promise<void> {
    await orUnavailable(async () => {
      await makeFolder(this.#directory);
      const mark = this.#pathOf(MARK);
      if (!(await isThere(mark))) {
        if (!(await isEmpty(this.#directory))) throw notOurs();
        await makeFolder(mark);
      }
      if (await isThere(this.#pathOf(MARK.toUpperCase()))) throw foldsCase();
      for (const folder of [this.#directory, mark])
        await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      await this.#claim();
      // What a process that died has left half written.
      for (const name of await readdir(mark)) if (name !== OWNER) await rm(join(mark, name), { force: true });
    });
  }

  async get(name: string): Promise<FoundSecret | undefined> {
    try {
      const file = await open(this.#pathOf(name), THE_FILE_ITSELF);
      try {
        if (!(await file.stat()).isFile()) throw inTheWay(name);
        return { content: new Secret(await file.readFile("utf8")), isManaged: true };
      } finally {
        await file.close();
      }
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return undefined;
      if (systemCodeOf(error) === "ELOOP") throw inTheWay(name);
      throw failureOf(error, ["EACCES", "ENAMETOOLONG", "ENXIO"]);
    }
  }

  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    const found = await this.get(name);
    if (found && isGood(found.content)) return;
    const path = this.#pathOf(name);
    const unfinished = this.#unfinished();
    try {
      await orUnavailable(async () => {
        await this.#makeFolderOf(path);
        await writeDurably(unfinished, content.reveal());
      });
      // Whoever reads the file sees the old content or the new one.
      await rename(unfinished, path).catch((error: unknown) => {
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
      if (!(await lstat(path)).isFile()) throw inTheWay(name);
      await unlink(path);
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return;
      throw failureOf(error, ["EPERM", "ENAMETOOLONG"]);
    }
    await orUnavailable(() => syncFolder(dirname(path)));
  }

  holdsAny(): Promise<boolean> {
    return orUnavailable(async () => {
      if (!(await isThere(this.#pathOf(MARK)))) return false;
      return hasFile(this.#directory);
    });
  }

  async close(): Promise<void> {}

  /** Of two that take an empty directory at once, one finds at its next run that it is the other's. */
  async #claim(): Promise<void> {
    const path = join(this.#pathOf(MARK), OWNER);
    if (await isThere(path)) {
      const owner = await readFile(path, "utf8");
      if (owner !== this.#scope) throw anothers(owner);
      return;
    }
    const unfinished = this.#unfinished();
    await writeDurably(unfinished, this.#scope);
    await rename(unfinished, path);
    await syncFolder(dirname(path));
  }

  #unfinished(): string {
    return join(this.#pathOf(MARK), randomBytes(8).toString("hex"));
  }

  #pathOf(name: string): string {
    return join(this.#directory, name);
  }

  /** Below the directory itself, and not where a link in its place may lead to. */
  async #makeFolderOf(path: string): Promise<void> {
    const folder = dirname(path);
    await makeFolder(folder);
    const expected = join(await realpath(this.#directory), folder.slice(this.#directory.length));
    if ((await realpath(folder)) !== expected) throw leadsAway(folder);
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function isEmpty(path: string): Promise<boolean> {
  for await (const _ of await opendir(path)) return false;
  return true;
}

async function hasFile(folder: string): Promise<boolean> {
  for await (const entry of await opendir(folder)) {
    if (entry.name === MARK) continue;
    if (!entry.isDirectory() || (await hasFile(join(folder, entry.name)))) return true;
  }
  return false;
}

/** A new folder is durable once the one around it is. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: OWNER_ONLY.folder });
  if (first === undefined) return;
  for (let made = path; ; made = dirname(made)) {
    await syncFolder(dirname(made));
    if (made === first) return;
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", OWNER_ONLY.file);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A name in it, or that there is none any more, is durable only then. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (error) {
    // Some network file systems don't know of it.
    if (!["EINVAL", "ENOTSUP"].includes(systemCodeOf(error))) throw error;
  } finally {
    await folder.close();
  }
}

async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error, []);
  }
}

/** The operating system quotes the path, and never the content. `ofOneFile`: the codes that are about this one. */
function failureOf(error: unknown, ofOneFile: readonly string[]): SecretStoreFailure {
  if (error instanceof SecretStoreFailure) return error;
  return ofOneFile.includes(systemCodeOf(error))
    ? new SecretStoreFailure("refused", describe(error), "see what is there, and whose it is")
    : new SecretStoreFailure(
        "unavailable",
        describe(error),
        "may this user read and write there, and is there space left?",
      );
}

const inTheWay = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "refused",
    `${name} is there already, and it is no file of groupsync's`,
    "remove it, or give tokens.path a name of its own",
  );

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

const anothers = (owner: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `it is kept by the groupsync whose config has the name ${owner}`,
    "name a directory of its own for each config in tokens.directory",
  );

const leadsAway = (folder: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `a symbolic link leads from ${folder} to another place`,
    "remove it: tokens.directory itself may be a link, but nothing in it",
  );

const foldsCase = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    "its file system takes A and a for one: tenants would get each other's tokens",
    "name a directory on a file system that tells them apart",
  );
