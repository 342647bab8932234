import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import { SECRET_NAMING } from "../../core/secret-naming.ts";
import { type FoundSecret, type SecretStore, SecretStoreFailure } from "./secret-store.ts";

export interface FileStoreOptions {
  readonly directory: string;
}

/** Marks a directory as groupsync's: files have no tags. */
const MARK = ".groupsync";
const MARK_TEXT = "The files in this directory are written and removed by groupsync.\n";
const UNFINISHED = ".groupsync-unfinished-";

/** One file for each secret, for its owner's eyes alone, in a directory of groupsync's own. */
export class FileStore implements SecretStore {
  readonly naming = SECRET_NAMING.file;
  readonly #directory: string;

  constructor({ directory }: FileStoreOptions) {
    this.#directory = directory;
  }

  get title(): string {
    return `the directory ${this.#directory}`;
  }

  async prepare(): Promise<void> {
    await failing(async () => {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      const names = await readdir(this.#directory);
      if (!names.includes(MARK)) {
        if (names.length > 0) throw notOurs();
        await this.#replace(MARK, MARK_TEXT);
      }
      // What a process that died left half written.
      for (const name of names.filter((other) => other.startsWith(UNFINISHED)))
        await rm(join(this.#directory, name), { force: true });
    });
  }

  get(name: string): Promise<FoundSecret | undefined> {
    return failing(async () => {
      const text = await readFile(this.#pathOf(name), "utf8").catch((error: unknown) => {
        if (codeOf(error) === "ENOENT") return undefined;
        throw error;
      });
      return text === undefined ? undefined : { content: new Secret(text), isManaged: true };
    });
  }

  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    const found = await this.get(name);
    if (found && isGood(found.content)) return;
    await failing(() => this.#replace(name, content.reveal()));
  }

  async remove(name: string): Promise<void> {
    await failing(async () => {
      await rm(this.#pathOf(name), { force: true });
    });
  }

  holdsAny(): Promise<boolean> {
    return failing(async () => {
      const names = await readdir(this.#directory).catch((error: unknown) => {
        if (codeOf(error) === "ENOENT") return [];
        throw error;
      });
      return names.some((name) => name !== MARK && !name.startsWith(UNFINISHED));
    });
  }

  async close(): Promise<void> {}

  #pathOf(name: string): string {
    return join(this.#directory, name);
  }

  /** Whoever reads the file sees the old content or the new one, also after a power cut. */
  async #replace(name: string, text: string): Promise<void> {
    const path = this.#pathOf(name);
    const unfinished = join(this.#directory, UNFINISHED + randomBytes(8).toString("hex"));
    try {
      const file = await open(unfinished, "wx", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await syncDirectory(dirname(path));
  }
}

/** The new name is durable only then. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SecretStoreFailure) throw error;
    // The operating system quotes the path, and never the content.
    throw OF_ONE_FILE.includes(codeOf(error))
      ? new SecretStoreFailure("refused", describe(error), "look at what is in the way there")
      : new SecretStoreFailure(
          "unavailable",
          describe(error),
          "may this user write there, and is there space left?",
        );
  }
}

const OF_ONE_FILE = ["EISDIR", "ENOTDIR", "ENAMETOOLONG", "EEXIST", "ENOTEMPTY", "ERR_FS_EISDIR", "EPERM"];

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

const notOurs = (): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    "it holds files that groupsync hasn't written",
    "name an empty directory, or one that isn't there yet, in tokens.directory",
  );
