import { once } from "node:events";
import { Command, InvalidArgumentError, Option } from "commander";
import { parseWindow, type RateLimit, type TokenBucket } from "../core/limits/rate-limit.ts";
import { isPlainHttpToAnotherHost } from "../core/tls/database-tls.ts";
import { type FaultShares, type Latency, totalShare } from "../sandbox/request-faults.ts";
import type { Sandbox, SandboxOptions } from "../sandbox/server.ts";
import { POISONS, type Poison, SERVICE_DEFAULTS } from "../sandbox/service-options.ts";
import type { CommandIo } from "./context.ts";

type SandboxIo = Pick<CommandIo, "stdout" | "stop">;

/** The options as commander delivers them. Some are converted before the sandbox gets them. */
interface Flags extends Omit<SandboxOptions, "shares"> {
  readonly failShare?: number;
  readonly cutBeforeShare?: number;
  readonly cutAfterShare?: number;
  readonly htmlShare?: number;
}

/**
 * `groupsync sandbox`: serves until the signal aborts. Rejects with SyncError SANDBOX_ADDRESS or SANDBOX_STATE, and with a CommanderError for wrong options if the command overrides exits.
 */
export function sandboxCommand({ io }: { readonly io: SandboxIo }): Command {
  const { teamId, existing, deleteBy, errors, retryAfter, htmlStatus } = SERVICE_DEFAULTS;
  const command = new Command("sandbox").description("a local user group service, to try things on");

  command
    .optionsGroup("Address and state:")
    .option("--host <HOST>", "address to listen on", "127.0.0.1")
    .option("--port <PORT>", "port to listen on; 0 takes any free port", integer(0, 65_535), 4180)
    .option("--api-key <KEY>", "key that clients need (default: from --state, or random)")
    .option("--state <FILE>", "file that keeps groups and key across restarts");

  command
    .optionsGroup("How the service behaves:")
    .option("--team-id <N>", "team_id of all groups", integer(0), teamId)
    .addOption(
      oneOf("--existing <HOW>", "what GET does with an existing group", ["keep", "update"], existing),
    )
    .addOption(oneOf("--delete-by <WHAT>", "how DELETE finds a group", ["token", "id", "both"], deleteBy))
    .addOption(oneOf("--errors <HOW>", "how the service reports an error", ["status", "body"], errors));

  command
    .optionsGroup("Faults (SHARE: a share of the requests, from 0 to 1):")
    .option("--latency <MS>", "delay of each request, e.g. 50, or 20-80 for a random delay", latency)
    .option("--rate-limit <N/UNIT>", "answer 429 beyond e.g. 180/min or 180/10s, in fixed windows", rateLimit)
    .option(
      "--token-bucket <N/UNIT:B>",
      "answer 429 beyond e.g. 3/s:20, which is 3/s with bursts of 20",
      tokenBucket,
    )
    .option("--concurrency-limit <N>", "answer 429 beyond N requests at once", integer(1))
    .addOption(
      oneOf("--retry-after <FORM>", "form of Retry-After in a 429", ["seconds", "date", "none"], retryAfter),
    )
    .option("--fail-share <SHARE>", "answer 500, and do nothing", share)
    .option("--cut-before-share <SHARE>", "cut the connection, and do nothing", share)
    .option("--cut-after-share <SHARE>", "carry out the request, then cut the connection", share)
    .option("--html-share <SHARE>", "answer in HTML, like a proxy, and do nothing", share)
    .option("--html-status <STATUS>", "status of the HTML answers", integer(200, 599), htmlStatus)
    .option("--poison <ID=FAULT>", `cause a fault for one group: ${POISONS.join(", ")} (repeatable)`, poison)
    .option("--seed <N>", "make the faults repeatable", integer(0));

  return command.addHelpText("after", PAGES).action((flags: Flags) => serve(flags, command, io));
}

const PAGES = `
With the same Authorization header as /api/user:
  GET /sandbox/groups       all groups, with their tokens
  GET /sandbox/requests     numbers of requests by operation and status, and by group; the last deletions
  DELETE /sandbox/requests  set the numbers of requests to zero
With "Authorization: Bearer TOKEN", where TOKEN is a group's token:
  GET /sandbox/dashboard    the group's dashboard`;

async function serve(flags: Flags, command: Command, io: SandboxIo): Promise<void> {
  const { failShare, cutBeforeShare, cutAfterShare, htmlShare, ...options } = flags;
  const shares: FaultShares = {
    fail: failShare ?? 0,
    "cut-before": cutBeforeShare ?? 0,
    "cut-after": cutAfterShare ?? 0,
    html: htmlShare ?? 0,
  };
  // Check the key here. Commander would print the value that an option's own check refuses, and a key is a secret.
  if (options.apiKey !== undefined && !/^[!-~]+$/.test(options.apiKey)) {
    command.error("error: the --api-key has to be printable ASCII without spaces, to fit into a header");
  }
  if (totalShare(shares) > 1) command.error("error: the shares of the faults add up to more than 1");

  // Load the server only now: other commands and --help don't need it.
  const { startSandbox } = await import("../sandbox/server.ts");
  const sandbox = await startSandbox({ ...options, shares });
  try {
    await announce(io, sandbox);
  } finally {
    await sandbox.close();
  }
}

/** Prints the `service` section of a config for this sandbox, and returns when the signal aborts. */
async function announce(io: SandboxIo, { baseUrl, apiKey }: Sandbox): Promise<void> {
  // A config reads $$ as one dollar, because ${…} stands for an environment variable.
  const service = {
    base_url: baseUrl,
    ...(isPlainHttpToAnotherHost(new URL(baseUrl)) && { allow_http: true }),
    api_key: apiKey.replaceAll("$", "$$$$"),
  };
  const { stringify } = await import("yaml");
  io.stdout(`# The sandbox listens; stop it with Ctrl-C.\n${stringify({ service }, { lineWidth: 0 })}`);
  if (!io.stop.aborted) await once(io.stop, "abort");
}

const oneOf = (flags: string, description: string, values: readonly string[], preset: string): Option =>
  new Option(flags, description).choices(values).default(preset);

const integer =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It has to be a whole number from ${min} to ${max}.`);
  };

function share(text: string): number {
  const value = Number(text);
  if (/^[\d.]+$/.test(text) && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError("It has to be a number from 0 to 1.");
}

function latency(text: string): Latency {
  const [, min, max = min] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? [];
  if (min !== undefined && Number(min) <= Number(max)) return { min: Number(min), max: Number(max) };
  throw new InvalidArgumentError("It has to be milliseconds, such as 50 or 20-80.");
}

function rateLimit(text: string): RateLimit {
  const limit = parseWindow(text);
  if (limit) return limit;
  throw new InvalidArgumentError("It has to be requests per time, such as 10/s, 180/min or 180/10s.");
}

function tokenBucket(text: string): TokenBucket {
  const [, rateText = "", burst] = /^(.+):(\d{1,9})$/.exec(text) ?? [];
  const rate = parseWindow(rateText);
  if (rate && Number(burst) > 0) return { rate, burst: Number(burst) };
  throw new InvalidArgumentError("It has to be requests per time and a burst, such as 3/s:20 or 180/min:30.");
}

function poison(
  text: string,
  previous: ReadonlyMap<string, Poison> | undefined,
): ReadonlyMap<string, Poison> {
  const [, id, name] = /^(.+)=(.+)$/s.exec(text) ?? [];
  const fault = POISONS.find((known) => known === name);
  if (id !== undefined && fault) return new Map([...(previous ?? []), [id, fault]]);
  throw new InvalidArgumentError(`It has to be ID=FAULT, where FAULT is one of ${POISONS.join(", ")}.`);
}
