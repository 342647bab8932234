import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts in hundredths of a second. */
const MS_PER_TICK = 10;

interface ProcessTimes {
  readonly parent: number;
  /** In user mode and in the kernel, in ticks. */
  readonly own: number;
  /** Of children that have ended. */
  readonly ofChildren: number;
}

/** The CPU time that a process has used so far, in milliseconds; 0 if it isn't on this machine. */
export const cpuMsOf = (pid: number | undefined): number =>
  (timesOf(pid ?? Number.NaN)?.own ?? 0) * MS_PER_TICK;

/** The CPU time of a process and all of its descendants, also of those that have ended, in milliseconds. */
export function cpuMsOfTree(root: number): number {
  const all = new Map<number, ProcessTimes>();
  for (const name of entriesOf("/proc")) {
    const times = /^\d+$/.test(name) ? timesOf(Number(name)) : undefined;
    if (times) all.set(Number(name), times);
  }
  const isBelowRoot = (pid: number): boolean =>
    pid === root || (all.has(pid) && isBelowRoot(all.get(pid)?.parent ?? 0));
  let ticks = 0;
  for (const [pid, { own, ofChildren }] of all) if (isBelowRoot(pid)) ticks += own + ofChildren;
  return ticks * MS_PER_TICK;
}

/** NaN if the process isn't on this machine. */
export const parentOf = (pid: number | undefined): number => timesOf(pid ?? Number.NaN)?.parent ?? Number.NaN;

function timesOf(pid: number): ProcessTimes | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before the last bracket may contain anything.
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [, parent = 0, , , , , , , , , , user = 0, system = 0, childUser = 0, childSystem = 0] = fields;
    return { parent, own: user + system, ofChildren: childUser + childSystem };
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
