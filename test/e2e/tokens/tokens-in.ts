import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The tokens in the files, by the id that is the file's name. The ids in these tests need no encoding. */
export async function tokensIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith(".")).sort();
  const entries = names.map(
    async (name): Promise<[string, string]> => [name, await readFile(join(directory, name), "utf8")],
  );
  return Object.fromEntries(await Promise.all(entries));
}
