import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { serverUrl } from "../support/databases/database-server.ts";
import { someOf } from "../support/long.ts";
import { BENCHMARKS } from "./benchmarks.ts";

/** The benchmarks that need a program of the machine. */
const PROGRAMS = { psql: ["unchanged"], python3: ["scripts"] };

/** The tiny form of `ten-million` is that of `unchanged`. */
const { "ten-million": _, ...DIFFERENT } = BENCHMARKS;

// No figure is judged: they depend on the machine, and on what else it does.
test.for(someOf(Object.entries(DIFFERENT)))(
  "%s prints its figures, in the tiny form",
  async ([name, benchmark], { skip }) => {
    for (const [program, users] of Object.entries(PROGRAMS))
      skip(users.includes(name) && spawnSync(program, ["--version"]).error !== undefined, `no ${program}`);
    const lines: string[] = [];
    await benchmark.run("tiny", serverUrl(benchmark.server), (line) => void lines.push(line));
    expect(lines[0]).toMatch(/^\([a-h]\) /);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {4}.*\d/);
    // This is what becomes of a time that was never measured.
    expect(lines.join("\n")).not.toMatch(/NaN|Infinity|undefined/);
  },
);
