import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { awsStore } from "../../../src/adapters/token-stores/aws-store.ts";
import type { SecretStore } from "../../../src/adapters/token-stores/secret-store.ts";
import { SecretTokenStore } from "../../../src/adapters/token-stores/secret-token-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { secretStoreContract } from "../../contracts/token-store.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { startMoto } from "../../support/servers/moto.ts";
import { realSecretStoreSuite } from "./a-real-store.ts";
import { aSecretPlace, faultsOn, PATH } from "./a-secret-place.ts";
import {
  type AwsAnswer,
  type AwsCall,
  type AwsFront,
  anAwsFront,
  anError,
  REGION,
  tagsOf,
} from "./servers/aws-front.ts";
import { serveJson } from "./servers/json-server.ts";

const moto = await startMoto();
afterAll(() => moto?.stop());

const TAKEN = anError("ResourceExistsException", "it already exists");
const DELETED = anError(
  "InvalidRequestException",
  "a secret with this name is already scheduled for deletion",
);
const MISSING = anError("ResourceNotFoundException", "can't find it");

describe.skipIf(moto === null)("AWS Secrets Manager, as moto plays it", () => {
  beforeEach(() => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "groupsync");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "key-of-groupsync");
    return () => void vi.unstubAllEnvs();
  });

  const aStoreOn = ({ url }: AwsFront, scope = "default") =>
    awsStore({ region: REGION, endpoint: url, scope });

  async function aStore() {
    const front = await anAwsFront(moto!);
    const store = aStoreOn(front);
    onTestFinished(() => store.close());
    const put = (name: string, content: string) =>
      store.put(name, new Secret(content), (found) => found.reveal() === content);
    const get = async (name: string) => (await store.get(name))?.content.reveal();
    /** The names of the calls that `body` makes. */
    const callsOf = async (body: () => Promise<unknown>) => {
      front.calls.length = 0;
      await body();
      return front.calls.map(({ name }) => name);
    };
    const tokens = new SecretTokenStore(
      store,
      { path: PATH, format: "token" },
      new VirtualClock(new VirtualTime()),
    );
    const write = (token: string) => tokens.put({ user_group_id: "a", token: new Secret(token) });
    const read = async () => (await tokens.read(["a"])).get("a")?.reveal();
    return { front, store, put, get, callsOf, write, read };
  }

  secretStoreContract(
    "moto",
    async () => {
      const front = await anAwsFront(moto!);
      return aSecretPlace({
        secrets: aStoreOn(front),
        contents: () => front.contents(),
        ...faultsOn<AwsCall, AwsAnswer | "cut">(front, {
          textOf: ({ body }) => body,
          isWrite: ({ name }) => /^(Create|Put)/.test(name),
          isRemoval: ({ name }) => name === "DeleteSecret",
          refusal: (token) => anError("InvalidParameterException", token),
          denial: anError("AccessDeniedException"),
        }),
        breakDown: async () => {
          front.instead = () => "cut";
        },
        makeAnothers: async (name, tags) => {
          const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
          await front.others.createSecret({ Name: name, SecretString: "theirs", Tags });
        },
      });
    },
    // moto takes its time for each call.
    { many: 40 },
  );

  test("a new secret costs one call, an equal one stays, and an other one becomes a version", async () => {
    const { put, callsOf, front } = await aStore();
    expect(await callsOf(() => put("a", "1"))).toEqual(["CreateSecret"]);
    const looks = ["CreateSecret", "DescribeSecret", "GetSecretValue"];
    expect(await callsOf(() => put("a", "1"))).toEqual(looks);
    expect(await callsOf(() => put("a", "2"))).toEqual([...looks, "PutSecretValue"]);
    expect((await front.others.describeSecret({ SecretId: "a" })).Tags).toEqual(
      tagsOf("groupsync", "default"),
    );
  });

  test("the value of a secret that somebody else manages isn't asked for: it is often forbidden", async () => {
    const { store, front, callsOf } = await aStore();
    await front.others.createSecret({
      Name: "a",
      SecretString: "theirs",
      Tags: tagsOf("terraform", "default"),
    });
    expect(await callsOf(() => store.get("a"))).toEqual(["DescribeSecret"]);
  });

  test("a secret of ours without a value, or with bytes, is given one", async () => {
    const { front, put, get } = await aStore();
    const Tags = tagsOf("groupsync", "default");
    await front.others.createSecret({ Name: "a", Tags });
    await front.others.createSecret({ Name: "b", Tags, SecretBinary: new Uint8Array([1]) });
    for (const name of ["a", "b"]) {
      expect(await get(name)).toBe("");
      await put(name, "token");
      expect(await get(name)).toBe("token");
    }
  });

  describe("one that somebody has scheduled for deletion", () => {
    const scheduled = async (manager: string) => {
      const world = await aStore();
      const { others } = world.front;
      await others.createSecret({ Name: "a", SecretString: "old", Tags: tagsOf(manager, "default") });
      await others.deleteSecret({ SecretId: "a", RecoveryWindowInDays: 7 });
      // As AWS has it; moto says that it exists.
      world.front.instead = ({ name }) => (name === "CreateSecret" ? DELETED : undefined);
      return world;
    };

    test("isn't there, and is nobody's to wait for", async () => {
      const { put, get } = await scheduled("groupsync");
      expect(await get("a")).toBeUndefined();
      expect(await rejection(put("a", "new"))).toMatchObject({
        problem: "refused",
        hint: expect.stringContaining("restore-secret --secret-id 'a'"),
      });
    });

    test("is removed for good, and its name is free", async () => {
      const { front, store, put } = await scheduled("groupsync");
      await store.remove("a");
      front.instead = () => undefined;
      await put("a", "new");
      expect(await front.contents()).toEqual({ a: "new" });
    });

    test("stays so where we don't manage it", async () => {
      const { store, put, front } = await scheduled("terraform");
      expect(await rejection(put("a", "new"))).toMatchObject({ problem: "refused" });
      expect(await rejection(store.remove("a"))).toMatchObject({ problem: "refused" });
      expect((await front.others.describeSecret({ SecretId: "a" })).DeletedDate).toBeDefined();
    });
  });

  /** Answers calls of these names with these in turn, and lets them pass from then on. */
  const inTurn = (
    front: AwsFront,
    answers: Readonly<Record<string, readonly ReturnType<typeof anError>[]>>,
  ) => {
    const left = new Map(Object.entries(answers).map(([name, list]) => [name, [...list]]));
    front.instead = ({ name }) => left.get(name)?.shift();
  };
  test("a name is waited for that was deleted for good just now", async () => {
    const { front, store, write, read } = await aStore();
    await write("old");
    await store.remove("t-a");
    inTurn(front, { CreateSecret: [DELETED, DELETED], DescribeSecret: [MISSING, MISSING] });
    expect(await write("token")).toBeUndefined();
    expect(await read()).toBe("token");
  });

  test("a name that another made between two calls is taken as it is", async () => {
    const { front, put } = await aStore();
    const Tags = tagsOf("groupsync", "default");
    inTurn(front, { CreateSecret: [TAKEN] });
    await front.others.createSecret({ Name: "a", SecretString: "1", Tags });
    await put("a", "2");
    expect(await front.contents()).toEqual({ a: "2" });
  });
});

realSecretStoreSuite("AWS Secrets Manager", "GROUPSYNC_TEST_AWS", (region, scope) =>
  awsStore({ region, scope }),
);

const TOKEN = "token-that-nobody-may-see";
const KEY = "AKIATHATNOBODYMAYSEE";

beforeEach(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", KEY);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret-key-that-nobody-may-see");
  vi.stubEnv("AWS_CONFIG_FILE", "/nowhere");
  vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere");
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  return () => void vi.unstubAllEnvs();
});

function aStoreAt(endpoint: string, region: string | undefined = REGION): SecretStore {
  const store = awsStore({ ...(region ? { region } : {}), endpoint, scope: "default" });
  onTestFinished(() => store.close());
  return store;
}

const callsOn = (store: SecretStore): readonly (() => Promise<unknown>)[] => [
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
      const { address } = await serveJson(() => {
        const Expiration = new Date(Date.now() + 3_600_000).toISOString();
        const body = { AccessKeyId: `ROLE${++logins}`, SecretAccessKey: "x", Token: "x", Expiration };
        return { status: 200, body };
      });
      vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
      vi.stubEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", `${address}/`);
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
    await aStoreAt(front.url, "").get("a");
    expect(front.calls).toHaveLength(1);
  });
});

test("the title names the region, if the config does", () => {
  const titles = ["eu-west-3", undefined].map((region) => awsStore({ region, scope: "default" }).title);
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
  const store = (allowHttp: boolean): SecretStore => {
    const opened = awsStore({ region: REGION, scope: "default", allowHttp });
    onTestFinished(() => opened.close());
    return opened;
  };
  for (const call of callsOn(store(false))) {
    expect(await rejection(call())).toMatchObject({
      code: "CONFIG_TLS",
      hint: expect.stringContaining("AWS_ENDPOINT_URL"),
    });
  }
  expect(await rejection(store(true).get("a"))).toMatchObject({
    message: "DescribeSecret: there is no such host",
  });
});

test("an unknown host is unavailable", async () => {
  expect(await rejection(aStoreAt("https://secretsmanager.nowhere.invalid").get("a"))).toMatchObject({
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
