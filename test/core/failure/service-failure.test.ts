import { describe, expect, it } from "vitest";
import {
  type Reaction,
  SERVICE_FAILURES,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../../src/core/failure/service-failure.ts";

/** design.md, "Failures", and whether the call may have had its effect. */
const expected: Record<ServiceFailureCode, [Reaction, mayHaveHappened: boolean]> = {
  KEY_REFUSED: ["ask", false],
  INTERMEDIARY_REFUSED: ["ask", true],
  THROTTLED: ["slow", false],
  OVERLOADED: ["slow", true],
  UNREACHABLE: ["retry", false],
  TIMEOUT: ["retry", true],
  CONNECTION_LOST: ["retry", true],
  SERVICE_ERROR: ["retry", true],
  BAD_RESPONSE: ["fail", true],
  REFUSED: ["fail", false],
  TOKEN_SHARED: ["fail", false],
};

describe("a failure", () => {
  it.each(Object.entries(expected) as [ServiceFailureCode, [Reaction, boolean]][])(
    "%s means %j, and tells what to do",
    (code, [reaction, mayHaveHappened]) => {
      const failure = new ServiceFailure(code, "GET was answered so");
      expect(failure).toMatchObject({ code, reaction, mayHaveHappened, message: "GET was answered so" });
      expect(failure.hint).toBe(SERVICE_FAILURES[code].remedy);
      expect(failure.retryAfterMs).toBeUndefined();
    },
  );

  it("may say how long to wait, what caused it, and a better hint", () => {
    const cause = new Error("reset");
    const failure = new ServiceFailure("THROTTLED", "…", { retryAfterMs: 5_000, hint: "wait", cause });
    expect(failure).toMatchObject({ retryAfterMs: 5_000, hint: "wait", cause });
  });
});
