import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Script } from "node:vm";

/** The program and its packages, as one CommonJS module in ASCII. */
export const BUNDLE = "groupsync.cjs";
/** What V8 has compiled of the bundle. Code of another version of V8, or for other flags, is ignored. */
export const COMPILED = "groupsync.compiled";

/** The bundle is the body of a function, as Node.js makes one of each CommonJS module. */
export const WRAPPER = ["(function (exports, require, module, __filename, importPackage) {", "})"] as const;

interface Bundle<Exports> {
  readonly exports: Exports;
  readonly script: Script;
}

/** Node.js 20 has no way to load a module with compiled code, so this does what its `require` does. */
export function loadBundle<Exports>(folder: string): Bundle<Exports> {
  const filename = folder + BUNDLE;
  const compiled = folder + COMPILED;
  const script = new Script(readFileSync(filename, "latin1"), {
    filename,
    ...(existsSync(compiled) && { cachedData: readFileSync(compiled) }),
  });
  const module = { exports: {} };
  // A script can't import by itself: that is experimental in Node.js.
  const importPackage = (name: string) => import(name);
  script.runInThisContext()(module.exports, createRequire(filename), module, filename, importPackage);
  return { exports: module.exports as Exports, script };
}
