import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Script } from "node:vm";

/** The program's own bundle. */
export const PROGRAM = "groupsync";
/**
 * Packages that only some commands need, each as a bundle of its own. Whatever is read at the start takes time, and V8
 * begins a collection of its whole heap the sooner, the more there is.
 */
export const PACKAGES_APART: readonly string[] = ["mysql2", "selfsigned"];

/** A program or a package, with all that it imports, as one CommonJS module in ASCII. */
export const bundleFile = (name: string): string => `${name}.cjs`;
/** What V8 has compiled of the bundle. Code of another version of V8, or for other flags, is ignored. */
export const compiledFile = (name: string): string => `${name}.compiled`;

/** The bundle is the body of a function, as Node.js makes one of each CommonJS module. */
export const WRAPPER = [
  "(function (exports, require, module, __filename, importPackage, loadApart) {",
  "})",
] as const;

/**
 * Returns what a bundle of the folder exports. Node.js 20 has no way to load a module with compiled code, so this does
 * what its `require` does. `scripts` gets the script of each bundle that is loaded, now or later.
 */
export function loadBundle<Exports>(
  folder: string,
  name: string = PROGRAM,
  scripts = new Map<string, Script>(),
): Exports {
  const filename = folder + bundleFile(name);
  const compiled = folder + compiledFile(name);
  const script = new Script(readFileSync(filename, "latin1"), {
    filename,
    ...(existsSync(compiled) && { cachedData: readFileSync(compiled) }),
  });
  scripts.set(name, script);
  const module = { exports: {} };
  // A script can't import by itself: that is experimental in Node.js.
  const importPackage = (name: string) => import(name);
  const loadApart = (name: string) => loadBundle(folder, name, scripts);
  const run = script.runInThisContext();
  run(module.exports, createRequire(filename), module, filename, importPackage, loadApart);
  return module.exports as Exports;
}
