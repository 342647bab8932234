import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Script } from "node:vm";

/** The program's own bundle. */
export const PROGRAM = "groupsync";
/**
 * Packages that only some commands need, each as a bundle of its own. Whatever is read at the start takes time, and V8
 * begins a collection of its whole heap the sooner, the more there is.
 */
export const PACKAGES_APART: readonly string[] = ["mysql2"];

/** A program or a package, with all that it imports, as one CommonJS module in ASCII. */
export const bundleFile = (name: string): string => `${name}.cjs`;
/**
 * What V8 has compiled of the bundle, after the bundle's SHA-256. It is ignored if the bundle is another one, or if V8 has
 * another version or other flags.
 */
export const compiledFile = (name: string): string => `${name}.compiled`;

/** V8 itself compares no more of a program than its length, and would run compiled code in place of another program. */
const digestOf = (bundle: Buffer): Buffer => createHash("sha256").update(bundle).digest();

export const compiledContent = (bundle: Buffer, code: Buffer): Buffer =>
  Buffer.concat([digestOf(bundle), code]);

function compiledCode(file: string, bundle: Buffer): Buffer | undefined {
  if (!existsSync(file)) return undefined;
  const content = readFileSync(file);
  const digest = digestOf(bundle);
  return content.subarray(0, digest.length).equals(digest) ? content.subarray(digest.length) : undefined;
}

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
  const bundle = readFileSync(filename);
  const cachedData = compiledCode(folder + compiledFile(name), bundle);
  const script = new Script(bundle.toString("latin1"), { filename, ...(cachedData && { cachedData }) });
  scripts.set(name, script);
  const module = { exports: {} };
  // A script can't import by itself: that is experimental in Node.js.
  const importPackage = (name: string) => import(name);
  const loadApart = (name: string) => loadBundle(folder, name, scripts);
  const run = script.runInThisContext();
  run(module.exports, createRequire(filename), module, filename, importPackage, loadApart);
  return module.exports as Exports;
}
