import { SyncError, type SyncErrorOptions } from "./errors.ts";

/**
 * What a failed call to the service means for the run.
 * - `stop`: every other call would end the same way; the run ends after this one.
 * - `slow`: the service asks for patience; the call is repeated after a pause.
 * - `retry`: it may well work the next time.
 * - `fail`: it concerns this group alone; the next run tries again.
 */
export type Reaction = "stop" | "slow" | "retry" | "fail";

interface Classification {
  readonly reaction: Reaction;
  /** Whether the service may have carried out the call all the same. */
  readonly mayHaveHappened: boolean;
  readonly remedy: string;
}

/** Every way in which a call to the service can fail. */
export const SERVICE_FAILURES = {
  KEY_REFUSED: {
    reaction: "stop",
    mayHaveHappened: false,
    remedy: "check service.api_key: is it the key of this environment, and still valid?",
  },
  INTERMEDIARY_REFUSED: {
    reaction: "stop",
    // A firewall may take offence at the answer as well, a token in it for one.
    mayHaveHappened: true,
    remedy:
      "a proxy, gateway or firewall between here and the service doesn't pass a GET that carries a body; call the service past it, or have it allow /api/user",
  },
  UNREACHABLE: {
    reaction: "retry",
    mayHaveHappened: false,
    remedy: "check service.base_url, DNS, the network path and the TLS certificate",
  },
  THROTTLED: {
    reaction: "slow",
    mayHaveHappened: false,
    remedy: "set service.rate_limit below what the service allows, or lower service.concurrency",
  },
  OVERLOADED: {
    reaction: "slow",
    // It may be a proxy that says so, of a service that has done its work.
    mayHaveHappened: true,
    remedy:
      "the service, or a proxy in front of it, is overloaded or under maintenance: lower service.concurrency, or ask its operators",
  },
  TIMEOUT: {
    reaction: "retry",
    mayHaveHappened: true,
    remedy: "raise service.timeout if the service is known to be slow",
  },
  CONNECTION_LOST: {
    reaction: "retry",
    mayHaveHappened: true,
    remedy:
      "the connection broke before the answer came; if it happens often, look at the proxies in between",
  },
  SERVICE_ERROR: {
    reaction: "retry",
    mayHaveHappened: true,
    remedy: "the service failed inside; if it persists, ask its operators, with the time and the id",
  },
  TOKEN_SHARED: {
    reaction: "fail",
    mayHaveHappened: false,
    remedy:
      "two groups must not have one token: ask the service's operators for another one for this group; until then nothing is deleted or rotated by it",
  },
  BAD_RESPONSE: {
    reaction: "fail",
    mayHaveHappened: true,
    remedy: "is service.base_url the service itself, and not a login page or another application?",
  },
  REFUSED: {
    reaction: "fail",
    mayHaveHappened: false,
    remedy:
      "the service said no to this group: if it is to be made or changed, compare its name, mapping and properties with one that works",
  },
} as const satisfies Record<string, Classification>;

export type ServiceFailureCode = keyof typeof SERVICE_FAILURES;

export interface ServiceFailureOptions extends SyncErrorOptions {
  /** How long the service asked to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** A call to the service that failed. The message holds no token and no key. */
export class ServiceFailure extends SyncError<ServiceFailureCode> {
  readonly retryAfterMs: number | undefined;

  constructor(code: ServiceFailureCode, message: string, options: ServiceFailureOptions = {}) {
    super(code, message, { hint: SERVICE_FAILURES[code].remedy, ...options });
    this.retryAfterMs = options.retryAfterMs;
  }

  get reaction(): Reaction {
    return SERVICE_FAILURES[this.code].reaction;
  }

  get mayHaveHappened(): boolean {
    return SERVICE_FAILURES[this.code].mayHaveHappened;
  }
}
