import { randomBytes } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { describe, SyncError } from "../core/failure/sync-error.ts";
import { Groups } from "./groups.ts";
import { RequestCounts } from "./request-counts.ts";
import { disturbances, type FaultShares, type Latency, seededRandom } from "./request-faults.ts";
import { routes } from "./routes.ts";
import { type ApiOptions, SERVICE_DEFAULTS } from "./service-options.ts";
import { type Journal, openJournal, readState, type State } from "./state-file.ts";
import { userGroupApi } from "./user-group-api.ts";

/** Everything has a default. {@link SERVICE_DEFAULTS} has the defaults of the service's behaviour. */
export interface SandboxOptions extends Partial<ApiOptions> {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0, which takes any free port. */
  readonly port?: number;
  /** The file that keeps groups and API key across restarts. */
  readonly state?: string;
  readonly latency?: Latency;
  readonly shares?: FaultShares;
  /** Repeats the same faults if the same requests come in the same order. */
  readonly seed?: number;
}

export interface Sandbox {
  /** Without a slash at the end: requests go to `{baseUrl}/api/user`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Closes all connections at once. */
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 10 * 60_000;

/**
 * Starts a service that implements interface.md on `/api/user`. With the same key, `GET /sandbox/groups` shows the
 * groups (GroupsReport in routes.ts), `GET /sandbox/requests` the requests (RequestReport in request-counts.ts), and
 * `DELETE /sandbox/requests` sets the counts to zero. With a group's token, `GET /sandbox/dashboard` shows a dashboard.
 * Latency, faults, limits and counts concern `/api/user` alone.
 *
 * The API key is the key in the options; without one, the key in the state file; without that, a random key.
 * Throws SyncError SANDBOX_ADDRESS if it can't listen, and SANDBOX_STATE if the state file can't be used.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = "127.0.0.1", port = 0 } = options;
  const server = http.createServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const boundPort = await listen(server, host, port);

  const closing = new AbortController();
  let journal: Journal | undefined;
  const close = async (): Promise<void> => {
    if (closing.signal.aborted) return;
    closing.abort();
    server.close();
    server.closeAllConnections();
    await once(server, "close");
    journal?.close();
  };

  try {
    // Open the state file only after listening: another sandbox on this port may still be writing to it.
    const state = openState(options);
    journal = options.state === undefined ? undefined : openJournal(options.state, state);
    const service: ApiOptions = { ...SERVICE_DEFAULTS, ...options, apiKey: state.apiKey };
    const random = options.seed === undefined ? Math.random : seededRandom(options.seed);
    const counts = new RequestCounts();
    server.on(
      "request",
      routes({
        api: userGroupApi(service, state.groups, journal, counts),
        groups: state.groups,
        counts,
        apiKey: state.apiKey,
        teamId: service.teamId,
        nextDisturbance: disturbances(options.shares ?? {}, options.latency ?? { min: 0, max: 0 }, random),
        closed: closing.signal,
      }),
    );
    return {
      baseUrl: `http://${reachableName(host)}:${boundPort}`,
      apiKey: state.apiKey,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function listen(server: http.Server, host: string, port: number): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    const taken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    throw new SyncError(
      "SANDBOX_ADDRESS",
      `the sandbox cannot listen on ${host}:${port}: ${taken ? "the port is in use" : describe(cause)}`,
      { hint: taken ? "choose another --port; 0 takes any free one" : "check --host and --port", cause },
    );
  }
  return (server.address() as AddressInfo).port;
}

function openState(options: SandboxOptions): State {
  const saved = options.state === undefined ? undefined : readState(options.state);
  return {
    apiKey: options.apiKey ?? saved?.apiKey ?? `sandbox_${randomBytes(24).toString("base64url")}`,
    groups: saved?.groups ?? new Groups(),
  };
}

/** The host name for clients on this machine. A client can't connect to a wildcard address. */
function reachableName(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
