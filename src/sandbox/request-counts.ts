import { API_METHODS, type ApiMethod, type Deletion } from "./groups.ts";

/**
 * How a request ended: its HTTP status; `cut`, if the sandbox cut the connection; or `abandoned`, if
 * the client went away first (before it had sent everything, or while a poisoned group let it wait).
 */
type RequestEnd = number | "cut" | "abandoned";

/** Counts the requests to `/api/user` since the start or the last reset: the body of `GET /sandbox/requests`. */
export interface RequestReport {
  /** Requests that have ended. */
  readonly total: number;
  /** Requests that a limit refused with HTTP 429. */
  readonly refused: number;
  /** Operation → how it ended → requests, e.g. `{ "GET": { "200": 12, "cut": 1 }, "POST": {}, … }`. */
  readonly by_operation: Readonly<Record<ApiMethod | "other", Readonly<Record<string, number>>>>;
  /** user_group_id → operation → requests that named the group by id or by token, with any end. */
  readonly by_group: Readonly<Record<string, Readonly<Record<ApiMethod, number>>>>;
  /** The deleted groups, in order. A deletion counts even if its answer was cut off. */
  readonly deletions: readonly Deletion[];
  /** Connections that carried at least one request. */
  readonly connections: number;
  /** The highest number of requests in flight at once. */
  readonly max_in_flight: number;
}

const isApiMethod = (method: string): method is ApiMethod => API_METHODS.some((name) => name === method);

/** Counts requests. Call `begin` and `end` once for each request, and the other methods in between. */
export class RequestCounts {
  #ends = noEnds();
  #byGroup = new Map<string, Record<ApiMethod, number>>();
  #deletions: Deletion[] = [];
  #seen = new WeakSet<object>();
  #connections = 0;
  #inFlight = 0;
  #maxInFlight = 0;

  /** Requests that have begun and not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  begin(connection: object): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.#maxInFlight) this.#maxInFlight = this.#inFlight;
    if (this.#seen.has(connection)) return;
    this.#seen.add(connection);
    this.#connections += 1;
  }

  /** The request names this group. */
  names(method: string, userGroupId: string): void {
    if (!isApiMethod(method)) return;
    const counts = this.#byGroup.get(userGroupId);
    if (counts) counts[method] += 1;
    else this.#byGroup.set(userGroupId, { GET: 0, POST: 0, DELETE: 0, [method]: 1 });
  }

  deleted(deletion: Deletion): void {
    this.#deletions.push(deletion);
  }

  end(method: string, end: RequestEnd): void {
    this.#inFlight -= 1;
    const ends = this.#ends[isApiMethod(method) ? method : "other"];
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }

  /** Sets the counts to zero. Requests in flight are counted when they end. */
  reset(): void {
    this.#ends = noEnds();
    this.#byGroup = new Map();
    this.#deletions = [];
    this.#seen = new WeakSet();
    this.#connections = 0;
    this.#maxInFlight = this.#inFlight;
  }

  report(): RequestReport {
    const { GET, POST, DELETE, other } = this.#ends;
    const ends = [GET, POST, DELETE, other].flatMap((counts) => [...counts]);
    return {
      total: sumOf(ends),
      refused: sumOf(ends.filter(([end]) => end === 429)),
      by_operation: {
        GET: Object.fromEntries(GET),
        POST: Object.fromEntries(POST),
        DELETE: Object.fromEntries(DELETE),
        other: Object.fromEntries(other),
      },
      by_group: Object.fromEntries(this.#byGroup),
      deletions: this.#deletions,
      connections: this.#connections,
      max_in_flight: this.#maxInFlight,
    };
  }
}

const sumOf = (ends: readonly (readonly [RequestEnd, number])[]): number =>
  ends.reduce((sum, [, count]) => sum + count, 0);

const noEnds = (): Record<ApiMethod | "other", Map<RequestEnd, number>> => ({
  GET: new Map(),
  POST: new Map(),
  DELETE: new Map(),
  other: new Map(),
});
