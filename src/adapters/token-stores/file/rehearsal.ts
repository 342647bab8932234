import { randomBytes } from "node:crypto";
import { access, constants, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SecretStoreFailure } from "../secrets/secret-store.ts";
import { isThere, writeDurably } from "./durable-writes.ts";

/**
 * Writes a file, reads it back and removes it. Makes no folder: where one is missing, looks at the rights to the one
 * above. `folders` are those that groupsync writes to, the directory itself first.
 */
export async function rehearseFiles(directory: string, folders: readonly string[]): Promise<string> {
  if (!(await isThere(directory))) {
    const above = await nearest(directory);
    await access(above, constants.W_OK | constants.X_OK);
    return `a sync creates the directory in ${above}, as this user may`;
  }
  for (const folder of folders) {
    const path = join(folder, randomBytes(8).toString("hex"));
    const text = randomBytes(32).toString("base64url");
    try {
      await writeDurably(path, text);
      if ((await readFile(path, "utf8")) !== text) throw notReadBack(folder);
    } finally {
      await rm(path, { force: true });
    }
  }
  return "a file was written, read back and removed";
}

async function nearest(path: string): Promise<string> {
  const above = dirname(path);
  return above === path || (await isThere(above)) ? above : nearest(above);
}

const notReadBack = (folder: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `a file in ${folder} holds something else than what was written`,
    "look at the file system there, and at what else writes to it",
  );
