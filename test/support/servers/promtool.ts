import { findProgram, type RunProgram } from "./debian-program.ts";

/** Prometheus's own checker. */
export const findPromtool = (): Promise<RunProgram | null> =>
  findProgram({
    name: "promtool",
    package: "prometheus",
    path: "usr/bin/promtool",
    version: ["--version"],
  });
