import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * The files of a folder that its .dockerignore lets into the build, as sorted paths within the folder. The last line
 * that matches a path decides. Understands only names in the folder itself, and throws at any other pattern.
 */
export function contextOf(folder: string): string[] {
  const rules = readFileSync(join(folder, ".dockerignore"), "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ taken: line.startsWith("!"), pattern: line.replace(/^!/, "") }))
    .map((rule) => ({ ...rule, names: namesLike(rule.pattern) }));
  const odd = rules.find(({ pattern }) => /[/?[\\]/.test(pattern));
  if (odd) throw new Error(`.dockerignore: ${odd.pattern} is more than a name in the folder itself`);
  return readdirSync(folder)
    .filter((name) => rules.findLast(({ names }) => names.test(name))?.taken ?? true)
    .flatMap((name) => (statSync(join(folder, name)).isDirectory() ? filesIn(folder, name) : [name]))
    .toSorted();
}

/** A star also stands for a dot at the beginning of a name. */
const namesLike = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split("*")
      .map((text) => text.replace(/\W/g, "\\$&"))
      .join(".*")}$`,
  );

function filesIn(folder: string, name: string): string[] {
  return readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}
