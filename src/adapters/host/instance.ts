import { createHash, randomUUID } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";

/**
 * A process as its name describes it. On Linux the name is enough to tell for certain whether the process has ended.
 */
interface Instance {
  readonly host: string;
  readonly pid: number;
  /** A hash of the machine, its boot and the process namespace: a pid is unique only within all three. */
  readonly realm: string;
  /** When the process started, in the kernel's ticks: the kernel reuses pids. */
  readonly start: string;
}

/** Names this process, e.g. `db-host pid 4711 (…)`: for the lease, for operators, and for `isDead`. */
export async function thisInstance(pid: number): Promise<string> {
  const realm = (await realmOf()) ?? "unknown";
  const start = (await startOf(pid)) ?? randomUUID();
  return format({ host: hostname(), pid, realm, start });
}

/**
 * Whether that process has ended for certain. False if it may run, here or on another machine. `isRunning` asks the
 * kernel whether a pid is in use: the kernel answers for other users' processes too, even if /proc hides them.
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
    // The boot id alone isn't enough: a clone of a running machine has the same one. Only a hash leaves the process,
    // because a machine's id is confidential (machine-id(5)).
    const machine = await readFile("/etc/machine-id", "utf8").catch(() => "");
    const processes = await readlink("/proc/self/ns/pid");
    return createHash("sha256").update([boot, machine, processes].join("\0")).digest("hex").slice(0, 32);
  } catch {
    return undefined;
  }
}

/** Field 22 of /proc/PID/stat; undefined if there is no such file. The name in field 2 may hold blanks and brackets. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended, though its parent hasn't waited for it yet.
    return fields[0] === "Z" || fields[0] === "X" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}
