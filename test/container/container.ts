import { readFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { type Ended, type Program, startProcess } from "../e2e/program.ts";
import type { Image } from "./image.ts";
import { inRoot, type Mount } from "./machine.ts";

export interface ContainerOptions {
  /** In place of the image's CMD. */
  readonly args?: readonly string[];
  /** In place of the image's ENTRYPOINT and CMD. */
  readonly command?: readonly string[];
  /** Variables in addition to the image's. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
}

/**
 * `docker run --read-only --tmpfs /tmp --network host IMAGE ARGS`, with no capabilities and no new privileges.
 * `stop` sends its signal to the program itself, which is PID 1.
 */
export function startContainer(image: Image, options: ContainerOptions = {}): Program {
  const { args = image.cmd, command = [...image.entrypoint, ...args], env, mounts = [] } = options;
  const [file = "", ...rest] = inRoot({
    ...{ root: image.root, readOnly: true, workdir: image.workdir, user: image.user },
    ...{ env: { ...image.env, ...env }, mounts, command },
  });
  const program = startProcess(file, rest);
  const signal = (name: NodeJS.Signals): void => {
    const pid = firstProcess(program.child.pid ?? 0);
    if (pid !== undefined) process.kill(pid, name);
  };
  // Kill PID 1 of the container: all its processes end with it. They would not end with the `unshare` outside.
  onTestFinished(() => signal("SIGKILL"));
  return {
    ...program,
    stop(name) {
      signal(name);
      return program.ended;
    },
  };
}

export const runContainer = (image: Image, options?: ContainerOptions): Promise<Ended> =>
  startContainer(image, options).ended;

/** The pid, outside of the container, of the container's PID 1. Undefined if it has ended. */
function firstProcess(unshare: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${unshare}/task/${unshare}/children`, "utf8").trim()) || undefined;
  } catch {
    return undefined;
  }
}
