import { describe, expect, it } from "vitest";
import { remedyOf } from "../../../src/core/failure/error-codes.ts";
import {
  isUndecided,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../../src/core/failure/service-failure.ts";
import { Breaker } from "../../../src/engine/service/breaker.ts";

const failure = (code: ServiceFailureCode): ServiceFailure => new ServiceFailure(code, code);

/** How many groups in a row may fail so before the run has to end: at its start, and once one was served. */
const groupsUntilEnd: Record<ServiceFailureCode, readonly [atFirst: number, later: number]> = {
  KEY_REFUSED: [3, 3],
  INTERMEDIARY_REFUSED: [3, 3],
  UNREACHABLE: [1, 1],
  THROTTLED: [5, 20],
  OVERLOADED: [5, 20],
  TIMEOUT: [5, 20],
  CONNECTION_LOST: [5, 20],
  SERVICE_ERROR: [5, 20],
  BAD_RESPONSE: [5, 20],
  REFUSED: [100, Infinity],
  TOKEN_SHARED: [5, 20],
};

/** How many of these failures it takes. */
function groupsToEnd(breaker: Breaker, code: ServiceFailureCode): number {
  const ends = Array.from({ length: 200 }, (_, n) => {
    const failed = failure(code);
    const end = isUndecided(failed) ? breaker.refusedAlone(`t${n}`, failed) : breaker.failed(failed);
    return end !== undefined;
  });
  const first = ends.indexOf(true);
  return first === -1 ? Infinity : first + 1;
}

describe("a run", () => {
  it.each(Object.entries(groupsUntilEnd) as [ServiceFailureCode, [number, number]][])(
    "with %s has to end after so many groups in a row, at its start and later: %j",
    (code, [atFirst, later]) => {
      expect(groupsToEnd(new Breaker(false), code)).toBe(atFirst);
      const breaker = new Breaker(false);
      breaker.succeeded();
      expect(groupsToEnd(breaker, code)).toBe(later);
    },
  );

  it("is not ended by refusals if the service has answered well in an earlier run", () => {
    expect(groupsToEnd(new Breaker(true), "REFUSED")).toBe(Infinity);
  });

  it.each<[string, (breaker: Breaker) => void]>([
    ["an answer", (breaker) => breaker.succeeded()],
    ["a refusal of one group", (breaker) => void breaker.failed(failure("REFUSED"))],
  ])("goes on where %s shows that the service is at work", (_, sign) => {
    const breaker = new Breaker(false);
    for (let n = 0; n < 20; n++) {
      if (n % 4 === 0) sign(breaker);
      expect(breaker.failed(failure("TIMEOUT"))).toBeUndefined();
    }
  });
});

it("goes on if the groups that are refused alone are not three different ones in a row", () => {
  const breaker = new Breaker(true);
  const refuse = (id: string): unknown => breaker.refusedAlone(id, failure("KEY_REFUSED"));
  for (const id of ["a", "b", "a", "b"]) expect(refuse(id)).toBeUndefined();
  breaker.succeeded();
  for (const id of ["c", "d"]) expect(refuse(id)).toBeUndefined();
  expect(refuse("e")).toMatchObject({
    code: "SERVICE_UNAVAILABLE",
    message:
      'the service is not available: it refused 3 groups in a row, the last one, "e", with KEY_REFUSED',
  });
});

it("ends if nearly all groups fail, even if not in a row", () => {
  const breaker = new Breaker(false);
  const ends = Array.from({ length: 100 }, (_, n) => {
    if (n % 15 !== 0) return breaker.failed(failure("SERVICE_ERROR"));
    breaker.succeeded();
    return undefined;
  });
  const end = ends.find((error) => error !== undefined);
  expect(end).toMatchObject({
    code: "SERVICE_UNAVAILABLE",
    message: "the service is not available: it failed 45 of 50 calls, the last one with SERVICE_ERROR",
  });
  expect(ends.indexOf(end)).toBeLessThan(50);
});

it("goes on if one call in six is served", () => {
  const breaker = new Breaker(false);
  for (let n = 0; n < 600; n++) {
    if (n % 6 === 0) breaker.succeeded();
    else expect(breaker.failed(failure("SERVICE_ERROR"))).toBeUndefined();
  }
});

describe("if every call is deferred", () => {
  const deferral = (group: string, now: number) => ({
    group,
    now,
    at: new Date(now),
    askedMs: 0,
    hasAnswered: true,
  });
  const MINUTE = 60_000;
  const end = expect.objectContaining({
    code: "SERVICE_UNAVAILABLE",
    message: "the service is not available: nothing has passed for more than ten minutes; THROTTLED",
  });

  it("the run has to end after ten minutes if more than one group was deferred", () => {
    const breaker = new Breaker(false);
    breaker.succeeded();
    expect(breaker.deferred(deferral("a", 0))).toBe(false);
    expect(breaker.deferred(deferral("b", 10 * MINUTE))).toBe(false);
    expect(breaker.deferred(deferral("a", 10 * MINUTE + 1))).toBe(true);
    expect(breaker.failed(failure("THROTTLED"))).toEqual(end);
  });

  it("a single deferred group fails alone, and the run has to end with the next one", () => {
    const breaker = new Breaker(false);
    breaker.deferred(deferral("a", 0));
    expect(breaker.deferred(deferral("a", 11 * MINUTE))).toBe(true);
    expect(breaker.failed(failure("THROTTLED"))).toBeUndefined();
    expect(breaker.deferred(deferral("b", 11 * MINUTE))).toBe(true);
    expect(breaker.failed(failure("THROTTLED"))).toEqual(end);
  });

  it.each<[string, (breaker: Breaker) => void]>([
    ["an answer", (breaker) => breaker.succeeded()],
    ["a refusal of one group", (breaker) => void breaker.failed(failure("REFUSED"))],
  ])("%s shows that it isn't", (_, sign) => {
    const breaker = new Breaker(true);
    breaker.deferred(deferral("a", 0));
    sign(breaker);
    expect(breaker.deferred(deferral("b", 11 * MINUTE))).toBe(false);
    expect(breaker.failed(failure("THROTTLED"))).toBeUndefined();
  });
});

it("the error names the last failure and the remedy", () => {
  const breaker = new Breaker(false);
  expect(breaker.failed(failure("UNREACHABLE"))).toMatchObject({
    code: "SERVICE_UNAVAILABLE",
    message: "the service is not available: UNREACHABLE",
    hint: remedyOf("UNREACHABLE"),
    cause: { code: "UNREACHABLE" },
  });
  let end: unknown;
  while (end === undefined) end = breaker.failed(failure("REFUSED"));
  expect(end).toMatchObject({
    message: "the service is not available: it refused the first 100 groups, the last one with REFUSED",
    hint: expect.stringContaining("service.base_url"),
  });
});
