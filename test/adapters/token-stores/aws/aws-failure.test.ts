import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { AwsStore } from "../../../../src/adapters/token-stores/aws/aws-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { startMoto } from "../../../support/servers/moto.ts";
import { type AwsAnswer, type AwsFront, anAwsFront, anError, REGION } from "./aws-front.ts";

const TOKEN = "token-that-nobody-may-see";
const KEY = "AKIATHATNOBODYMAYSEE";

const moto = await startMoto();
afterAll(() => moto?.stop());

beforeEach(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", KEY);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret-key-that-nobody-may-see");
  vi.stubEnv("AWS_CONFIG_FILE", "/nowhere");
  vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere");
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  return () => void vi.unstubAllEnvs();
});

function aStoreAt(endpoint: string, region: string | undefined = REGION): AwsStore {
  const store = new AwsStore({ ...(region ? { region } : {}), endpoint, scope: "default" });
  onTestFinished(() => store.close());
  return store;
}

const callsOn = (store: AwsStore): readonly (() => Promise<unknown>)[] => [
  () => store.prepare(),
  () => store.holdsAny(),
  () => store.get("a"),
  () => store.put("a", new Secret(TOKEN), () => false),
  () => store.remove("a"),
];

const html = (status: number): AwsAnswer => ({
  status,
  body: `<html>${TOKEN} ${KEY}</html>`,
  headers: { "content-type": "text/html" },
});
const quoting = { "x-amzn-requestid": TOKEN, "x-amz-error-message": TOKEN };

describe.skipIf(moto === null)("AWS Secrets Manager, as it answers:", () => {
  test.each<[string, AwsAnswer | "cut", { problem: string; hint?: unknown }]>([
    ["throttled", anError("ThrottlingException", TOKEN, quoting), { problem: "throttled" }],
    ["throttled in another word", anError("TooManyRequestsException", TOKEN), { problem: "throttled" }],
    ["an error inside", { ...anError("InternalServiceError", TOKEN), status: 500 }, { problem: "passing" }],
    ["a line that breaks", "cut", { problem: "passing" }],
    ["HTML with status 200", html(200), { problem: "unavailable" }],
    ["HTML with status 403", html(403), { problem: "unavailable" }],
    ["HTML with status 502", html(502), { problem: "passing" }],
    ["nothing, with status 429", { status: 429, body: "" }, { problem: "throttled" }],
    [
      "JSON that ends too soon",
      { status: 200, body: `{"SecretString":"${TOKEN}` },
      { problem: "unavailable" },
    ],
    ["no right", anError("AccessDeniedException", TOKEN), RIGHTS()],
    ["a key that is unknown", anError("UnrecognizedClientException", KEY), LOGIN()],
    ["a key that is over", anError("ExpiredTokenException", KEY), LOGIN()],
    ["a KMS key that is gone", anError("EncryptionFailure", TOKEN), { problem: "refused" }],
    ["a secret that is too long", anError("ValidationException", TOKEN), { problem: "refused" }],
    ["too many secrets or versions", anError("LimitExceededException", TOKEN), { problem: "refused" }],
    ["what nobody knows", anError(TOKEN, TOKEN, quoting), { problem: "unavailable" }],
    ["what every object has", anError("constructor", TOKEN), { problem: "unavailable" }],
  ])("%s", async (_, answer, failure) => {
    const front = await anAwsFront(moto!);
    front.instead = () => answer;
    for (const call of callsOn(aStoreAt(front.url))) {
      const error = await rejection(call());
      expect(error).toMatchObject({ hint: expect.any(String), ...failure });
      expect(`${everythingIn(error)}${JSON.stringify(error)}`).not.toMatch(/nobody-?may-?see/i);
    }
  });

  test("the failure has the wait that AWS asks for", async () => {
    const front = await anAwsFront(moto!);
    front.instead = () => anError("ThrottlingException", "slow down", { "retry-after": "7" });
    expect(await rejection(aStoreAt(front.url).get("a"))).toMatchObject({ retryAfterMs: 7_000 });
  });

  test("each call is made once: the caller makes the retries", async () => {
    const front = await anAwsFront(moto!);
    front.instead = () => anError("ThrottlingException");
    await rejection(aStoreAt(front.url).get("a"));
    expect(front.calls).toHaveLength(1);
  });

  describe("a login that ends in the middle of a run", () => {
    /** A container's credentials, other ones each time, and a front that refuses those before `firstGood`. */
    const aRole = async (firstGood: number): Promise<{ front: AwsFront; logins: () => number }> => {
      let logins = 0;
      const credentials = createServer((_, response) => {
        const Expiration = new Date(Date.now() + 3_600_000).toISOString();
        const keys = { AccessKeyId: `ROLE${++logins}`, SecretAccessKey: "x", Token: "x", Expiration };
        response.end(JSON.stringify(keys));
      }).listen(0, "127.0.0.1");
      await once(credentials, "listening");
      onTestFinished(() => void credentials.close());
      const { port } = credentials.address() as AddressInfo;
      vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
      vi.stubEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", `http://127.0.0.1:${port}/`);
      const front = await anAwsFront(moto!);
      front.instead = ({ accessKey }) =>
        Number(accessKey.slice("ROLE".length)) < firstGood ? anError("ExpiredTokenException") : undefined;
      return { front, logins: () => logins };
    };

    test("is renewed, once for all calls", async () => {
      const { front, logins } = await aRole(2);
      const store = aStoreAt(front.url);
      const names = ["a", "b", "c", "d"];
      await Promise.all(names.map((name) => store.put(name, new Secret(name), () => false)));
      expect(await front.contents()).toEqual({ a: "a", b: "b", c: "c", d: "d" });
      expect(logins()).toBe(2);
    });

    test("is tried once more, and not for ever", async () => {
      const { front, logins } = await aRole(Number.POSITIVE_INFINITY);
      expect(await rejection(aStoreAt(front.url).get("a"))).toMatchObject(LOGIN());
      expect(logins()).toBe(2);
    });
  });

  test("a region of the environment is taken, if the config names none", async () => {
    vi.stubEnv("AWS_REGION", "eu-west-3");
    const front = await anAwsFront(moto!);
    await aStoreAt(front.url, "").prepare();
    expect(front.calls).toHaveLength(1);
  });
});

test("the title names the region, if the config does", () => {
  const titles = ["eu-west-3", undefined].map((region) => new AwsStore({ region, scope: "default" }).title);
  expect(titles).toEqual(["AWS Secrets Manager in eu-west-3", "AWS Secrets Manager"]);
});

test("no region anywhere is an error of the config, before any call", async () => {
  vi.stubEnv("AWS_REGION", undefined);
  for (const call of callsOn(aStoreAt("http://127.0.0.1:1", ""))) {
    expect(await rejection(call())).toMatchObject({
      code: "CONFIG_REGION_MISSING",
      hint: expect.stringContaining("tokens.region"),
    });
  }
});

test("no credentials anywhere: it isn't available, and says where it has looked", async () => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
  for (const call of callsOn(aStoreAt("http://127.0.0.1:1")))
    expect(await rejection(call())).toMatchObject(LOGIN());
});

test("an endpoint of the environment may be http to another host only if the config allows it", async () => {
  vi.stubEnv("AWS_ENDPOINT_URL", "http://secretsmanager.nowhere.invalid");
  const store = (allowHttp: boolean): AwsStore => {
    const opened = new AwsStore({ region: REGION, scope: "default", allowHttp });
    onTestFinished(() => opened.close());
    return opened;
  };
  for (const call of callsOn(store(false))) {
    expect(await rejection(call())).toMatchObject({
      code: "CONFIG_TLS",
      hint: expect.stringContaining("AWS_ENDPOINT_URL"),
    });
  }
  expect(await rejection(store(true).prepare())).toMatchObject({
    message: "ListSecrets: there is no such host",
  });
});

test("an unknown host is unavailable", async () => {
  expect(await rejection(aStoreAt("https://secretsmanager.nowhere.invalid").prepare())).toMatchObject({
    problem: expect.stringMatching(/unavailable|passing/),
    hint: expect.any(String),
  });
});

function RIGHTS() {
  return { problem: "unavailable", hint: expect.stringContaining("secretsmanager:CreateSecret") };
}

function LOGIN() {
  return { problem: "unavailable", hint: expect.stringContaining("chain of credentials") };
}
