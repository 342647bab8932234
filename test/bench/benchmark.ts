import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseKind } from "../support/databases/database-server.ts";
import { type BenchDatabase, benchDatabase } from "./databases.ts";

/** What a benchmark works with. */
export interface Bench {
  /** A database of its own. */
  readonly database: BenchDatabase;
  /** A folder for its files. */
  readonly folder: string;
  /** Prints one line of the result. */
  print(line: string): void;
}

export interface Benchmark {
  /** The kind of server that it needs. */
  readonly server: DatabaseKind;
  /** Works on a database that it makes on the server and drops again. The url's account has to be allowed to do so. */
  run(form: "full" | "tiny", serverUrl: string, print: Bench["print"]): Promise<void>;
}

interface Definition<Sizes> {
  readonly server: DatabaseKind;
  /** The sizes that give figures to rely on. */
  readonly full: Sizes;
  /** The sizes that only show, in `npm test`, that the benchmark still works. */
  readonly tiny: Sizes;
  run(bench: Bench, sizes: Sizes): Promise<void>;
}

export function benchmark<Sizes>({ server, run, ...sizes }: Definition<Sizes>): Benchmark {
  return {
    server,
    async run(form, serverUrl, print) {
      const database = benchDatabase(server, serverUrl);
      const folder = mkdtempSync(join(tmpdir(), "groupsync-bench-"));
      try {
        await run({ database, folder, print }, sizes[form]);
      } finally {
        rmSync(folder, { recursive: true });
        await database.drop();
      }
    },
  };
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The value below which this share, from 0 to 1, of the values lies. */
export const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
