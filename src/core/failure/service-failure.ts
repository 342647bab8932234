import { remedyOf } from "./error-codes.ts";
import { SyncError, type SyncErrorOptions } from "./sync-error.ts";

/**
 * What a failed call to the service means for the run.
 * - `ask`: either everybody is refused, so the run ends, or this group alone. A neutral request tells, see `concernsEverybody`.
 * - `slow`: the service asks for fewer calls. The call is repeated after a pause.
 * - `retry`: the call may succeed if it is repeated.
 * - `fail`: only this group is affected. A later run tries again.
 */
export type Reaction = "ask" | "slow" | "retry" | "fail";

interface Classification {
  readonly reaction: Reaction;
  /** Whether the service may have carried out the call. */
  readonly mayHaveHappened: boolean;
}

/** Every way in which a call to the service can fail. `adapters/service/answer.ts` says which HTTP status means which failure. */
export const SERVICE_FAILURES = {
  KEY_REFUSED: {
    reaction: "ask",
    mayHaveHappened: false,
  },
  INTERMEDIARY_REFUSED: {
    reaction: "ask",
    // A firewall may have blocked the answer instead of the request, for example because of the token in it.
    mayHaveHappened: true,
  },
  UNREACHABLE: {
    reaction: "retry",
    mayHaveHappened: false,
  },
  THROTTLED: {
    reaction: "slow",
    mayHaveHappened: false,
  },
  OVERLOADED: {
    reaction: "slow",
    // A proxy may have answered, after the service carried out the call.
    mayHaveHappened: true,
  },
  TIMEOUT: {
    reaction: "retry",
    mayHaveHappened: true,
  },
  CONNECTION_LOST: {
    reaction: "retry",
    mayHaveHappened: true,
  },
  SERVICE_ERROR: {
    reaction: "retry",
    mayHaveHappened: true,
  },
  TOKEN_SHARED: {
    reaction: "fail",
    mayHaveHappened: false,
  },
  BAD_RESPONSE: {
    reaction: "fail",
    mayHaveHappened: true,
  },
  REFUSED: {
    reaction: "fail",
    mayHaveHappened: false,
  },
} as const satisfies Record<string, Classification>;

export type ServiceFailureCode = keyof typeof SERVICE_FAILURES;

/** The codes of runs that the service made fail. Only a good answer shows that the failure is over. */
export const FAILED_BY_SERVICE: readonly string[] = [
  ...Object.keys(SERVICE_FAILURES),
  "SERVICE_UNAVAILABLE",
  "TEAM_CHANGED",
];

interface ServiceFailureOptions extends SyncErrorOptions {
  /** The pause that the service asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the answer was a JSON object. Anything else may come from something in between. */
  readonly isJson?: boolean;
}

/** A call to the service that failed. The message holds no token and no key. */
export class ServiceFailure extends SyncError<ServiceFailureCode> {
  readonly retryAfterMs: number | undefined;
  readonly isJson: boolean;

  constructor(code: ServiceFailureCode, message: string, options: ServiceFailureOptions = {}) {
    super(code, message, { hint: remedyOf(code), ...options });
    this.retryAfterMs = options.retryAfterMs;
    this.isJson = options.isJson ?? false;
  }

  get reaction(): Reaction {
    return SERVICE_FAILURES[this.code].reaction;
  }

  get mayHaveHappened(): boolean {
    return SERVICE_FAILURES[this.code].mayHaveHappened;
  }
}

/** A refusal that may concern everybody, or the group of the call alone. */
type UndecidedCode = Extract<ServiceFailureCode, "KEY_REFUSED" | "INTERMEDIARY_REFUSED">;
export type Undecided = ServiceFailure & { readonly code: UndecidedCode };

export const isUndecided = (failure: unknown): failure is Undecided =>
  failure instanceof ServiceFailure && failure.reaction === "ask";

/** How the service has answered a request that concerns no group; null: as if there was nothing to refuse. */
export type NeutralAnswer = ServiceFailure | null;

/**
 * Whether a refusal concerns everybody, by the answer to a neutral request.
 *
 * | refusal                | neutral request               | its answer                             | concerns       |
 * |------------------------|-------------------------------|----------------------------------------|----------------|
 * | `KEY_REFUSED`          | a POST with a random token    | the same, see `isSameRefusal`          | everybody      |
 * |                        |                               | `KEY_REFUSED` with another status or   | the group      |
 * |                        |                               | in other words: perhaps the service    |                |
 * |                        |                               | refuses the token that way             |                |
 * | `INTERMEDIARY_REFUSED` | a GET with a body, and a      | `INTERMEDIARY_REFUSED`                 | everybody      |
 * |                        | wrong key                     |                                        |                |
 * | either                 |                               | any other, or none                     | the group      |
 */
export function concernsEverybody(refusal: Undecided, answer: NeutralAnswer): boolean {
  if (refusal.code === "KEY_REFUSED") return isSameRefusal(refusal, answer);
  return answer?.code === refusal.code;
}

/**
 * Whether two refusals are the same: the code, the HTTP status, and the words. What differs from answer to answer doesn't
 * count, such as the id of a request or the time.
 */
export const isSameRefusal = (refusal: ServiceFailure, answer: NeutralAnswer): boolean =>
  answer?.code === refusal.code && gist(refusal) === gist(answer);

function gist({ message }: ServiceFailure): string {
  const [, status = "", words = ""] = /^(?:[A-Z]+ was answered )?(HTTP \d+)?(.*)$/s.exec(message) ?? [];
  return status + words.replace(VARYING, "#");
}

/** A word with a digit, a hexadecimal number without one, and a word that is as long as a token. */
const VARYING = /[\p{L}_+/=.:-]*\p{N}[\p{L}\p{N}_+/=.:-]*|\b[a-f]{8,}\b|[\p{L}\p{N}_+/=-]{24,}/giu;

/** The failure of a group that alone is refused. Its cause is the refusal. */
export const refusedAlone = (refusal: Undecided): ServiceFailure =>
  new ServiceFailure("REFUSED", `${refusal.message}; ${ALONE[refusal.code]}`, { cause: refusal });

const ALONE: Readonly<Record<UndecidedCode, string>> = {
  KEY_REFUSED: "the API key is good, so the service, or a firewall before it, refuses this group alone",
  INTERMEDIARY_REFUSED: "other requests pass, so something before the service refuses this group alone",
};
