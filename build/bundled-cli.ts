/** Becomes dist/cli.js, which takes the place of src/cli.ts. */
import { loadBundle } from "./load-bundle.ts";

export const { cli } = loadBundle<typeof import("../src/cli.ts")>(`${__dirname}/`);
