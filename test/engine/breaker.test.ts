import { describe, expect, it } from "vitest";
import { SERVICE_FAILURES, ServiceFailure, type ServiceFailureCode } from "../../src/core/service-failure.ts";
import { Breaker } from "../../src/engine/breaker.ts";

const failure = (code: ServiceFailureCode): ServiceFailure => new ServiceFailure(code, code);

/** How many groups in a row may fail so before the run has to end; none does for ever. */
const groupsUntilEnd: Record<ServiceFailureCode, number> = {
  KEY_REFUSED: 1,
  INTERMEDIARY_REFUSED: 1,
  UNREACHABLE: 1,
  THROTTLED: 1,
  OVERLOADED: 1,
  TIMEOUT: 5,
  CONNECTION_LOST: 5,
  SERVICE_ERROR: 5,
  BAD_RESPONSE: Infinity,
  REFUSED: Infinity,
};

describe("a run", () => {
  it.each(Object.entries(groupsUntilEnd) as [ServiceFailureCode, number][])(
    "with %s after %s groups in a row has to end",
    (code, groups) => {
      const breaker = new Breaker();
      const ends = Array.from({ length: 20 }, () => breaker.failed(failure(code)) !== undefined);
      const first = ends.indexOf(true);
      expect(first === -1 ? Infinity : first + 1).toBe(groups);
    },
  );

  it.each<[string, (breaker: Breaker) => void]>([
    ["an answer", (breaker) => breaker.succeeded()],
    ["a refusal of one group", (breaker) => void breaker.failed(failure("REFUSED"))],
  ])("goes on where %s shows that the service is at work", (_, sign) => {
    const breaker = new Breaker();
    for (let n = 0; n < 20; n++) {
      if (n % 4 === 0) sign(breaker);
      expect(breaker.failed(failure("TIMEOUT"))).toBeUndefined();
    }
  });
});

it("ends where nearly all groups fail, if not one after the other", () => {
  const breaker = new Breaker();
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

it("goes on where one in six is served", () => {
  const breaker = new Breaker();
  for (let n = 0; n < 600; n++) {
    if (n % 6 === 0) breaker.succeeded();
    else expect(breaker.failed(failure("SERVICE_ERROR"))).toBeUndefined();
  }
});

it("bears more where it has seen the service at work than where it has not", () => {
  const breaker = new Breaker();
  breaker.succeeded();
  const ends = Array.from({ length: 20 }, () => breaker.failed(failure("SERVICE_ERROR")) !== undefined);
  expect(ends.indexOf(true)).toBe(19);
});

it("tells the operator what the last failure was, and what helps", () => {
  const breaker = new Breaker();
  expect(breaker.failed(failure("UNREACHABLE"))).toMatchObject({
    code: "SERVICE_UNAVAILABLE",
    message: "the service is not available: UNREACHABLE",
    hint: SERVICE_FAILURES.UNREACHABLE.remedy,
    cause: { code: "UNREACHABLE" },
  });
  expect(breaker.failed(failure("KEY_REFUSED"))).toMatchObject({ code: "KEY_REFUSED" });
});
