import { findProgram, type RunProgram } from "./debian-program.ts";

/** The first release with versions that read the files in deploy/. */
const RELEASE = "trixie";

/** `kubectl kustomize` needs no cluster. Before 1.22 it knew less of a kustomization. */
export const findKubectl = (): Promise<RunProgram | null> =>
  findProgram({
    name: "kubectl",
    package: "kubectl",
    release: RELEASE,
    path: "usr/bin/kubectl",
    version: ["version", "--client"],
    isEnough: (version) => Number(/Client Version: v1\.(\d+)/.exec(version)?.[1]) >= 22,
  });

/** `docker-compose config` needs no engine. Version 1 doesn't know today's files. */
export const findCompose = (): Promise<RunProgram | null> =>
  findProgram({
    name: "docker-compose",
    package: "docker-compose",
    release: RELEASE,
    path: "usr/libexec/docker/cli-plugins/docker-compose",
    version: ["version"],
    isEnough: (version) => /version v?[2-9]/.test(version),
  });
