import { createHash, randomUUID } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";

/** A process as others may see it: on Linux, enough to tell for certain whether it is gone. */
interface Instance {
  readonly host: string;
  readonly pid: number;
  /** Names the machine, its kernel's run and the process namespace: only within all of them does a pid mean anything. */
  readonly realm: string;
  /** When the process started, in the kernel's ticks: pids are used again. */
  readonly start: string;
}

/** Names this process, e.g. `db-host pid 4711 (…)`: for the lease, for operators, and for `isDead`. */
export async function thisInstance(pid: number): Promise<string> {
  const realm = (await realmOf()) ?? "unknown";
  const start = (await startOf(pid)) ?? randomUUID();
  return format({ host: hostname(), pid, realm, start });
}

/**
 * Whether that process is gone for certain. False where it may live, or live on another machine.
 * `isRunning` asks the kernel, which answers for other users' processes too where /proc hides them.
 */
export async function isDead(name: string, isRunning: (pid: number) => boolean): Promise<boolean> {
  const instance = parse(name);
  if (instance?.host !== hostname() || instance.realm === "unknown" || instance.realm !== (await realmOf()))
    return false;
  const start = await startOf(instance.pid);
  return start === undefined ? !isRunning(instance.pid) : start !== instance.start;
}

const format = ({ host, pid, realm, start }: Instance): string => `${host} pid ${pid} (${realm}/${start})`;

function parse(name: string): Instance | undefined {
  const [, host, pid, realm, start] = /^(\S+) pid (\d+) \((\S+)\/(\S+)\)$/.exec(name) ?? [];
  return host && pid && realm && start ? { host, pid: Number(pid), realm, start } : undefined;
}

async function realmOf(): Promise<string | undefined> {
  try {
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    // A clone of a running machine has its boot id as well. A machine's id is not to be told as it is (machine-id(5)).
    const machine = await readFile("/etc/machine-id", "utf8").catch(() => "");
    const processes = await readlink("/proc/self/ns/pid");
    return createHash("sha256").update([boot, machine, processes].join("\0")).digest("hex").slice(0, 32);
  } catch {
    return undefined;
  }
}

/** Field 22 of /proc/PID/stat; the name before it may hold blanks and brackets. Undefined where there is none. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended: only its parent hasn't noticed.
    return fields[0] === "Z" || fields[0] === "X" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}
