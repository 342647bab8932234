import { asSyncError, type FailureWithHint, withoutCause } from "../core/failure/sync-error.ts";
import { noCounts } from "../core/report/counts.ts";
import { serveBeside } from "../engine/serving/serve-tenants.ts";
import type { TenantServer } from "../engine/serving/tenant-server.ts";
import { type SyncPorts, type SyncSettings, sync } from "../engine/sync.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Observe, RunEvent, RunSummary } from "../ports/observer.ts";
import type { Noticing } from "./changes/noticing.ts";

/** What one sync needs. The daemon opens it before the sync and closes it afterwards. */
export interface OpenedSync {
  readonly ports: Omit<SyncPorts, "observe">;
  readonly settings: SyncSettings;
  /** Serves single tenants beside the sync, and after it until the next one. */
  readonly serving?: Serving | undefined;
  close(): Promise<void>;
}

export interface Serving {
  readonly server: TenantServer;
  /** Notices changed tenants while this instance has the lease. Undefined if the config names no feed. */
  readonly noticing: Pick<Noticing, "start" | "stop" | "state"> | undefined;
}

export interface SessionParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: Observe;
  readonly open: () => Promise<OpenedSync>;
  /** Notices tenants by these feeds from now on, and by no other. */
  readonly notice: (noticing: Serving["noticing"]) => Promise<void>;
  /** Whether single tenants are to be served, by the config in force. */
  readonly servesTenants: boolean;
  /** After this time the sync rotates no token that an operator wants, in milliseconds. */
  readonly wantedMs: number | undefined;
  /** Aborts when the next sync is due. */
  readonly next: AbortSignal;
  /** Aborts when this process is told to stop. */
  readonly stop: AbortSignal;
}

/** A full sync under one lease, and the service of single tenants beside it and after it. */
export interface Session {
  /** Resolves when the full sync has ended. */
  readonly run: Promise<RunSummary>;
  /** Resolves once nothing of the session is under way. */
  readonly end: Promise<SessionEnd>;
}

/** Why a session has ended. If single tenants are to be served, another session follows, unless this process ends. */
export type SessionEnd = "done" | "next sync is due" | "handed over" | "failed" | "database is away";

/** Begins a session. `run` never rejects; `end` rejects if this program has a mistake. */
export function beginSession(parts: SessionParts): Session {
  let over = (_: RunSummary): void => {};
  const run = new Promise<RunSummary>((resolve) => {
    over = resolve;
  });
  return { run, end: session(parts, over) };
}

async function session(parts: SessionParts, over: (run: RunSummary) => void): Promise<SessionEnd> {
  const { clock, open, notice, servesTenants, wantedMs, next, stop } = parts;
  const started = clock.monotonic();
  let summary: RunSummary | undefined;
  let serving: Serving | undefined;
  let failure: FailureWithHint | undefined;
  const observe = (event: RunEvent): void => {
    parts.observe(event);
    if (event.kind !== "finished") return;
    summary = event;
    over(event);
  };
  try {
    const { ports, settings, close, ...opened } = await open();
    serving = opened.serving;
    try {
      await notice(serving?.noticing);
      const startNoticing = async (table: string | null): Promise<void> => serving?.noticing?.start(table);
      const beside =
        serving && serveBeside({ server: serving.server, startNoticing, end: next }, ports, settings);
      await sync({ ...ports, observe }, settings, { wantedMs }, stop, beside);
    } finally {
      await close();
    }
    if (summary === undefined) throw new Error("the sync ended without a report");
  } catch (error) {
    failure = withoutCause(asSyncError(error));
    if (summary === undefined)
      observe({ kind: "finished", ...failedEarly(failure, clock.monotonic() - started) });
    else if (serving) {
      const message = `single tenants can't be served until the next sync: ${failure.message}`;
      parts.log({ level: "warn", ...failure, message });
    } else throw error;
  }
  if (stop.aborted || !(serving || servesTenants)) return "done";
  const code = (failure ?? summary?.error)?.code;
  if (code !== undefined && DATABASE_IS_AWAY.has(code)) return "database is away";
  if (failure !== undefined || summary?.outcome === "failed") return "failed";
  return next.aborted ? "next sync is due" : "handed over";
}

const DATABASE_IS_AWAY: ReadonlySet<string> = new Set([
  "LEDGER_UNAVAILABLE",
  "SOURCE_UNAVAILABLE",
  "LEASE_LOST",
  "LEDGER_REWOUND",
]);

/** A sync that failed before its run began: a secret can't be read, or this program has a mistake. */
function failedEarly(error: FailureWithHint, durationMs: number): RunSummary {
  return { command: "sync", outcome: "failed", counts: noCounts(), requests: 0, durationMs, error };
}
