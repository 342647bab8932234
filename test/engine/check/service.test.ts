import { describe, expect, test } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { keyFinding, pathFinding, serviceFindings } from "../../../src/engine/check/service.ts";
import type { Reached, ServiceTrial, TrialAnswer } from "../../../src/ports/check.ts";
import { allOf, signsOf } from "./findings.ts";

const anAnswer = (
  code: ServiceFailureCode | null,
  status: number,
  text = "",
  content: TrialAnswer["content"] = "json",
): TrialAnswer => ({ code, status, content, text: `HTTP ${status}${text}` });

const LOST = new ServiceFailure("CONNECTION_LOST", "GET to dash: socket hang up");
const WRONG_KEY = anAnswer("KEY_REFUSED", 401, ": unknown key");

describe("the answer to a GET with a body and a wrong key", () => {
  test.each<[string, TrialAnswer | ServiceFailure, string]>([
    ["the key is refused in JSON", WRONG_KEY, "✓"],
    ["the body is refused in JSON", anAnswer("REFUSED", 400), "✓"],
    ["a login page", anAnswer("KEY_REFUSED", 401, " with HTML", "html"), "!"],
    ["a firewall", anAnswer("INTERMEDIARY_REFUSED", 403, " with HTML", "html"), "✗ INTERMEDIARY_REFUSED"],
    ["success", anAnswer(null, 200), "✗"],
    ["another page", anAnswer("BAD_RESPONSE", 404, " with HTML", "html"), "✗ BAD_RESPONSE"],
    ["a redirect", anAnswer("BAD_RESPONSE", 302, ", a redirect to https://sso", "other"), "✗ BAD_RESPONSE"],
    ["a limit", anAnswer("THROTTLED", 429), "! THROTTLED"],
    ["maintenance", anAnswer("OVERLOADED", 503), "! OVERLOADED"],
    ["no answer", new ServiceFailure("TIMEOUT", "GET was not answered within 15000 ms"), "✗ TIMEOUT"],
    ["a cut", LOST, "✗ CONNECTION_LOST"],
  ])("%s", (_, answer, sign) => {
    const finding = pathFinding(answer);
    expect(signsOf([finding])).toEqual([sign]);
    if (sign !== "✓") expect(finding.hint).toEqual(expect.any(String));
  });
});

describe("the answer to a POST with the real key and a random token", () => {
  const refusedToken = anAnswer("REFUSED", 404, ": no such token");
  test.each<[string, TrialAnswer | ServiceFailure, TrialAnswer | ServiceFailure, string]>([
    ["the token is refused, and a wrong key otherwise", refusedToken, WRONG_KEY, "✓"],
    [
      "the token is refused, and a wrong key with another status",
      refusedToken,
      anAnswer("REFUSED", 400),
      "✓",
    ],
    ["the token or the key is refused, and nothing is known of a wrong key", refusedToken, LOST, "!"],
    [
      "the token or the key is refused, and a wrong key meets a limit",
      anAnswer("REFUSED", 400, ": this key is unknown"),
      anAnswer("THROTTLED", 429),
      "!",
    ],
    ["the token is refused as a wrong key is", anAnswer("REFUSED", 400), anAnswer("REFUSED", 400), "!"],
    ["the key is refused as a wrong one is", WRONG_KEY, WRONG_KEY, "✗ KEY_REFUSED"],
    ["the key is refused, and nothing is known of a wrong one", WRONG_KEY, LOST, "✗ KEY_REFUSED"],
    ["the key is refused in other words", anAnswer("KEY_REFUSED", 401, ": unknown token"), WRONG_KEY, "!"],
    ["the key is refused with another status", anAnswer("KEY_REFUSED", 403), WRONG_KEY, "!"],
    ["the service fails at the token", anAnswer("SERVICE_ERROR", 500), WRONG_KEY, "!"],
    [
      "the service fails at everything",
      anAnswer("SERVICE_ERROR", 500),
      anAnswer("SERVICE_ERROR", 500),
      "✗ SERVICE_ERROR",
    ],
    ["a gateway fails", anAnswer("SERVICE_ERROR", 502, "", "html"), WRONG_KEY, "✗ SERVICE_ERROR"],
    ["success", anAnswer(null, 200), WRONG_KEY, "!"],
    ["another page", anAnswer("BAD_RESPONSE", 200, " with HTML", "html"), WRONG_KEY, "✗ BAD_RESPONSE"],
    ["a limit", anAnswer("THROTTLED", 429), WRONG_KEY, "! THROTTLED"],
    ["a cut", LOST, WRONG_KEY, "✗ CONNECTION_LOST"],
  ])("%s", (_, answer, refused, sign) => {
    const finding = keyFinding(answer, refused);
    expect(signsOf([finding])).toEqual([sign]);
    if (sign !== "✓") expect(finding.hint).toEqual(expect.any(String));
  });
});

describe("the service as a whole", () => {
  const NOW = new Date("2026-03-01T00:00:00Z");
  const aTrial = (overrides: Partial<ServiceTrial> = {}): ServiceTrial => ({
    reach: async (): Promise<Reached> => ({
      at: "dash:443",
      tls: { protocol: "TLSv1.3", validUntil: new Date("2026-05-01T00:00:00Z") },
    }),
    getWithWrongKey: async () => WRONG_KEY,
    rotateNobody: async () => anAnswer("REFUSED", 404, ": no such token"),
    close: async () => {},
    ...overrides,
  });

  test("is well if it refuses the wrong key and the random token", async () => {
    expect(signsOf(await allOf(serviceFindings(aTrial(), NOW)))).toEqual(["✓", "✓", "✓"]);
  });

  test("has a certificate that should have been renewed", async () => {
    const tls = { protocol: "TLSv1.3", validUntil: new Date("2026-03-10T00:00:00Z") };
    const [first] = await allOf(
      serviceFindings(aTrial({ reach: async () => ({ at: "dash:443", tls }) }), NOW),
    );
    expect(first).toMatchObject({ level: "warning", message: expect.stringContaining("2026-03-10") });
  });

  test("that cuts a GET is tried with a POST all the same", async () => {
    const cut = { getWithWrongKey: () => Promise.reject(LOST) };
    expect(signsOf(await allOf(serviceFindings(aTrial(cut), NOW)))).toEqual(["✓", "✗ CONNECTION_LOST", "!"]);
  });
});
