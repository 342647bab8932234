import { describe, expect, test } from "vitest";
import {
  type NeutralAnswer,
  ServiceFailure,
  type ServiceFailureCode,
} from "../../../src/core/failure/service-failure.ts";
import { keyFinding, pathFinding, serviceFindings } from "../../../src/engine/check/service.ts";
import type { ReachedService } from "../../../src/ports/group-service.ts";
import { allOf, signsOf } from "./findings.ts";

const get = (code: ServiceFailureCode, answer: string): ServiceFailure =>
  new ServiceFailure(code, `GET was answered HTTP ${answer}`, { isJson: !/ with /.test(answer) });
const post = (code: ServiceFailureCode, answer: string): ServiceFailure =>
  new ServiceFailure(code, `POST was answered HTTP ${answer}`, { isJson: !/ with /.test(answer) });

const LOST = new ServiceFailure("CONNECTION_LOST", "GET to dash: socket hang up");
const WRONG_KEY = get("KEY_REFUSED", "401: unknown key");
const NO_SUCH_TOKEN = post("REFUSED", "404: no such token");

describe("the answer to a GET with a body and a wrong key", () => {
  test.each<[string, NeutralAnswer, string]>([
    ["the key is refused", WRONG_KEY, "✓"],
    ["the body is refused", get("REFUSED", "400"), "✓"],
    ["a login page", get("KEY_REFUSED", "401 with HTML"), "!"],
    ["nothing but a status", get("KEY_REFUSED", "403 with an empty body"), "!"],
    ["a firewall", get("INTERMEDIARY_REFUSED", "403 with HTML"), "✗ INTERMEDIARY_REFUSED"],
    ["success", null, "✗"],
    ["another page", get("BAD_RESPONSE", "404 with HTML"), "✗ BAD_RESPONSE"],
    ["a limit", get("THROTTLED", "429"), "! THROTTLED"],
    ["maintenance", get("OVERLOADED", "503"), "! OVERLOADED"],
    ["a cut", LOST, "✗ CONNECTION_LOST"],
  ])("%s", (_, answer, sign) => {
    const finding = pathFinding(answer);
    expect(signsOf([finding])).toEqual([sign]);
    if (sign !== "✓") expect(finding.hint).toEqual(expect.any(String));
  });
});

describe("the answer to a POST with the real key and a random token", () => {
  test.each<[string, NeutralAnswer, NeutralAnswer, string]>([
    ["the token is refused, and a wrong key otherwise", NO_SUCH_TOKEN, WRONG_KEY, "✓"],
    ["the token is refused, and a wrong key with another status", NO_SUCH_TOKEN, get("REFUSED", "400"), "✓"],
    ["the token or the key is refused, and nothing is known of a wrong key", NO_SUCH_TOKEN, LOST, "!"],
    [
      "the token or the key is refused, and a wrong key meets a limit",
      post("REFUSED", "400: this key is unknown"),
      get("THROTTLED", "429"),
      "!",
    ],
    ["the token is refused as a wrong key is", post("REFUSED", "400"), get("REFUSED", "400"), "!"],
    [
      "the key is refused as a wrong one is",
      post("KEY_REFUSED", "401: unknown key"),
      WRONG_KEY,
      "✗ KEY_REFUSED",
    ],
    ["the key is refused, and nothing is known of a wrong one", WRONG_KEY, LOST, "✗ KEY_REFUSED"],
    ["the key is refused, and a wrong one is not", WRONG_KEY, null, "✗ KEY_REFUSED"],
    ["the key is refused in other words", post("KEY_REFUSED", "401: unknown token"), WRONG_KEY, "!"],
    ["the key is refused with another status", post("KEY_REFUSED", "403"), WRONG_KEY, "!"],
    ["the service fails at the token", post("SERVICE_ERROR", "500"), WRONG_KEY, "!"],
    [
      "something before the service fails",
      post("SERVICE_ERROR", "502 with HTML"),
      WRONG_KEY,
      "✗ SERVICE_ERROR",
    ],
    [
      "the service fails at everything",
      post("SERVICE_ERROR", "500"),
      get("SERVICE_ERROR", "500"),
      "✗ SERVICE_ERROR",
    ],
    ["success", null, WRONG_KEY, "!"],
    ["another page", post("BAD_RESPONSE", "200 with HTML"), WRONG_KEY, "✗ BAD_RESPONSE"],
    ["a limit", post("THROTTLED", "429"), WRONG_KEY, "! THROTTLED"],
    ["a cut", LOST, WRONG_KEY, "✗ CONNECTION_LOST"],
  ])("%s", (_, answer, toWrongKey, sign) => {
    const finding = keyFinding(answer, toWrongKey);
    expect(signsOf([finding])).toEqual([sign]);
    if (sign !== "✓") expect(finding.hint).toEqual(expect.any(String));
  });
});

describe("the service as a whole", () => {
  const NOW = new Date("2026-03-01T00:00:00Z");
  const foundOf = (validUntil: string, toWrongKey: ServiceFailure = WRONG_KEY) => {
    const tls = { protocol: "TLSv1.3", validUntil: new Date(validUntil) };
    const reach = async (): Promise<ReachedService> => ({ at: "dash:443", tls });
    const service = {
      getWithWrongKey: () => Promise.reject(toWrongKey),
      rotateNobody: () => Promise.reject(NO_SUCH_TOKEN),
    };
    return allOf(serviceFindings(reach, service, NOW));
  };

  test("is well if it refuses the wrong key and the random token", async () => {
    expect(signsOf(await foundOf("2026-05-01T00:00:00Z"))).toEqual(["✓", "✓", "✓"]);
  });

  test("has a certificate that should have been renewed", async () => {
    const [first] = await foundOf("2026-03-10T00:00:00Z");
    expect(first).toMatchObject({ level: "warning", message: expect.stringContaining("2026-03-10") });
  });

  test("that cuts a GET is tried with a POST all the same", async () => {
    expect(signsOf(await foundOf("2026-05-01T00:00:00Z", LOST))).toEqual(["✓", "✗ CONNECTION_LOST", "!"]);
  });
});
