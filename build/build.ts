/**
 * Makes dist/: the program and its packages in one file, and what V8 has compiled of it. To find, read and compile a
 * thousand files takes most of a command's time.
 */
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import manifest from "../package.json" with { type: "json" };
import { BUNDLE, COMPILED, loadBundle, WRAPPER } from "./load-bundle.ts";
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

rmSync(DIST, { recursive: true, force: true });
const { metafile } = await build({
  ...shared,
  entryPoints: ["src/cli.ts"],
  outfile: DIST + BUNDLE,
  format: "cjs",
  plugins: [withVendorsOutside, withoutHttp2],
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

const { exports, script } = loadBundle<typeof import("../src/cli.ts")>(DIST);
await useAsCommandsDo(exports.cli);
writeFileSync(DIST + COMPILED, script.createCachedData());
