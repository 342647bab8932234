/** Becomes dist/cli.js, which takes the place of src/cli.ts. */
import { fileURLToPath } from "node:url";
import { loadBundle } from "./load-bundle.ts";

export const { cli } = loadBundle<typeof import("../src/cli.ts")>(
  fileURLToPath(new URL("./", import.meta.url)),
).exports;
