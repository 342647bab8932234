/**
 * Makes dist/: the program and its packages in a few files, and what V8 has compiled of them. To find, read and compile
 * a thousand files takes most of a command's time.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Script } from "node:vm";
import { type BuildOptions, build, type Plugin } from "esbuild";
import manifest from "../package.json" with { type: "json" };
import {
  bundleFile,
  compiledContent,
  compiledFile,
  loadBundle,
  PACKAGES_APART,
  PROGRAM,
  WRAPPER,
} from "./load-bundle.ts";
import { thirdPartyNotices } from "./third-party-notices.ts";
import { useAsCommandsDo } from "./warm-up.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DIST = `${ROOT}dist/`;
const [HEAD, TAIL] = WRAPPER;

const shared = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  target: "node20.18",
  logLevel: "warning",
} as const satisfies BuildOptions;

/**
 * Leaves the vendors' clients outside, because operators install those that they need. `import()` waits for what has a
 * `then`, so it resolves to the package itself.
 */
const withVendorsOutside: Plugin = {
  name: "with-vendors-outside",
  setup({ onResolve, onLoad }) {
    const inside = new Set(Object.keys(manifest.dependencies));
    onResolve({ filter: /^[@\w]/ }, ({ path, kind, importer }) => {
      const isVendors = kind === "dynamic-import" && importer.startsWith(`${ROOT}src/`) && !inside.has(path);
      return isVendors ? { path, namespace: "vendors" } : undefined;
    });
    onLoad({ filter: /./, namespace: "vendors" }, ({ path }) => ({
      contents: `export const then = (...handlers) => importPackage(${JSON.stringify(path)}).then(...handlers);`,
    }));
  },
};

/** By their bare names alone: a file of theirs, such as `mysql2/promise`, would get into the program's bundle. */
const withPackagesApart: Plugin = {
  name: "with-packages-apart",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\w+$/ }, ({ path, kind }) =>
      PACKAGES_APART.includes(path) && kind !== "entry-point" ? { path, namespace: "apart" } : undefined,
    );
    onLoad({ filter: /./, namespace: "apart" }, ({ path }) => ({
      contents: `module.exports = loadApart(${JSON.stringify(path)});`,
    }));
  },
};

/** undici asks for HTTP/2 in case Node.js was built with it. groupsync never speaks it, and it takes long to load. */
const withoutHttp2: Plugin = {
  name: "without-http2",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:http2$/ }, ({ path }) => ({ path, namespace: "without" }));
    onLoad({ filter: /./, namespace: "without" }, () => ({
      contents: 'throw new Error("groupsync speaks HTTP/1.1");',
    }));
  },
};

/** main.js imports the bundle only once it handles signals. Tests import cli.js too. */
const withCliOutside: Plugin = {
  name: "with-cli-outside",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/cli\.ts$/ }, () => ({ path: "./cli.js", external: true }));
  },
};

/** Escapes what esbuild leaves as it is: characters in templates, regular expressions and comments. */
function inAscii(file: string): void {
  const escaped = (char: string): string =>
    char
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
  writeFileSync(file, readFileSync(file, "utf8").replace(/\P{ASCII}/gu, escaped));
}

rmSync(DIST, { recursive: true, force: true });
const { metafile } = await build({
  ...shared,
  entryPoints: {
    [PROGRAM]: "src/cli.ts",
    ...Object.fromEntries(PACKAGES_APART.map((name) => [name, name])),
  },
  outdir: DIST,
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  plugins: [withPackagesApart, withVendorsOutside, withoutHttp2],
  // pg asks for it in case it is there.
  external: ["pg-native"],
  define: {
    "import.meta.url": "import_meta_url",
    // To find out that it isn't in Cloudflare, pg would have Node.js 20 load all of `fetch`.
    navigator: JSON.stringify({ userAgent: "Node.js" }),
  },
  banner: { js: `${HEAD} const import_meta_url = require("node:url").pathToFileURL(__filename).href;` },
  footer: { js: TAIL },
  metafile: true,
});
for (const name of [PROGRAM, ...PACKAGES_APART]) inAscii(DIST + bundleFile(name));
const beside = { ...shared, outdir: DIST, format: "cjs" } as const satisfies BuildOptions;
await build({ ...beside, entryPoints: { cli: "build/bundled-cli.ts" } });
await build({
  ...beside,
  entryPoints: { main: "src/main.ts" },
  // To start the loader of ES modules takes a tenth of Node.js's own start.
  supported: { "dynamic-import": false },
  plugins: [withCliOutside],
});
writeFileSync(`${DIST}package.json`, '{ "type": "commonjs" }\n');
chmodSync(`${DIST}main.js`, 0o755);
writeFileSync(`${DIST}THIRD-PARTY-NOTICES.txt`, thirdPartyNotices(Object.keys(metafile.inputs)));

const scripts = new Map<string, Script>();
const { cli } = loadBundle<typeof import("../src/cli.ts")>(DIST, PROGRAM, scripts);
await useAsCommandsDo(cli);
for (const name of PACKAGES_APART) if (!scripts.has(name)) loadBundle(DIST, name, scripts);
for (const [name, script] of scripts) {
  const bundle = readFileSync(DIST + bundleFile(name));
  writeFileSync(DIST + compiledFile(name), compiledContent(bundle, script.createCachedData()));
}
