import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { AwsStore } from "../../../../src/adapters/token-stores/aws/aws-store.ts";
import { SecretTokenStore } from "../../../../src/adapters/token-stores/secrets/secret-token-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { rejection } from "../../../contracts/collect.ts";
import { isOfBOrD, secretStoreContract, someTokens } from "../../../contracts/token-store.ts";
import { someTransaction } from "../../../fakes/ledger/ledger-transaction.ts";
import { VirtualClock, VirtualTime } from "../../../fakes/virtual-time.ts";
import { startMoto } from "../../../support/servers/moto.ts";
import { realSecretStoreSuite } from "../secrets/a-real-store.ts";
import { aSecretPlace, PATH } from "../secrets/a-secret-place.ts";
import { type AwsFront, anAwsFront, anError, REGION, tagsOf } from "./aws-front.ts";

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
    new AwsStore({ region: REGION, endpoint: url, scope });

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
    const write = (token: string) => tokens.write(someTokens({ a: token }), someTransaction());
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
        refuseSome: async () => {
          front.instead = ({ name, body }) =>
            /^(Create|Put)/.test(name) && body.includes("refused")
              ? anError("InvalidParameterException", body)
              : undefined;
        },
        keepSome: async () => {
          const contents = await front.contents();
          front.instead = ({ name, body }) => {
            const content = contents[JSON.parse(body).SecretId];
            return name === "DeleteSecret" && content?.startsWith("kept")
              ? anError("InvalidParameterException", content)
              : undefined;
          };
        },
        breakDown: async () => {
          front.instead = () => "cut";
        },
        forbid: async (which) => {
          front.instead = ({ body }) =>
            which === "all" || isOfBOrD(body) ? anError("AccessDeniedException", body) : undefined;
        },
      });
    },
    { many: 200 },
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

  test.each([
    ["nobody", []],
    ["somebody else", tagsOf("terraform", "default")],
    ["another config", tagsOf("groupsync", "production")],
  ])("what %s manages is refused: its value isn't read, changed or removed", async (_, Tags) => {
    const { store, front, put, callsOf } = await aStore();
    await front.others.createSecret({ Name: "a", SecretString: "theirs", Tags });
    const calls = await callsOf(async () => {
      expect(await rejection(put("a", "theirs"))).toMatchObject({ problem: "refused" });
      expect(await rejection(store.remove("a"))).toMatchObject({ problem: "refused" });
      expect(await store.get("a")).toMatchObject({ isManaged: false });
      expect(await store.holdsAny()).toBe(false);
    });
    expect(calls).not.toContain("GetSecretValue");
    expect(await front.contents()).toEqual({ a: "theirs" });
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

    test("isn't there, and is restored to be written", async () => {
      const { put, get, callsOf } = await scheduled("groupsync");
      expect(await get("a")).toBeUndefined();
      expect(await callsOf(() => put("a", "new"))).toContain("RestoreSecret");
      expect(await get("a")).toBe("new");
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
  const asDeleted = {
    ...TAKEN,
    status: 200,
    body: JSON.stringify({ Name: "t-a", DeletedDate: 1, Tags: tagsOf("groupsync", "default") }),
  };

  test.each([
    ["is no longer shown", { CreateSecret: [DELETED, DELETED], DescribeSecret: [MISSING, MISSING] }],
    [
      "can't be restored",
      {
        CreateSecret: [DELETED, DELETED],
        DescribeSecret: [asDeleted, asDeleted],
        RestoreSecret: [DELETED, MISSING],
        PutSecretValue: [DELETED, DELETED],
      },
    ],
  ])("a name is waited for that was deleted for good just now, and %s", async (_, answers) => {
    const { front, write, read } = await aStore();
    inTurn(front, answers);
    expect(await write("token")).toEqual(new Map());
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

  test("of several that write a secret at the same moment each succeeds", async () => {
    const { front } = await aStore();
    const stores = Array.from({ length: 5 }, () => aStoreOn(front));
    await Promise.all(stores.map((store, n) => store.put("a", new Secret(`${n}`), () => false)));
    expect(await front.contents()).toEqual({ a: expect.stringMatching(/^[0-4]$/) });
    await Promise.all(stores.map((store) => store.remove("a")));
    expect(await front.contents()).toEqual({});
    await Promise.all(stores.map((store) => store.close()));
  });

  test("a change that doesn't show yet is waited for", async () => {
    const { front, write, read } = await aStore();
    await write("1");
    inTurn(front, { DescribeSecret: [MISSING, MISSING] });
    expect(await read()).toBe("1");
    await write("2");
    const stale = { ...TAKEN, status: 200, body: JSON.stringify({ SecretString: "1", VersionId: "old" }) };
    inTurn(front, { GetSecretValue: [stale, stale, stale] });
    expect(await read()).toBe("2");
  });

  test("what somebody has changed or removed since is seen in the end", async () => {
    const { front, write, read } = await aStore();
    await write("1");
    await front.others.putSecretValue({ SecretId: "t-a", SecretString: "theirs" });
    expect(await read()).toBe("theirs");
    await write("2");
    await front.others.deleteSecret({ SecretId: "t-a", ForceDeleteWithoutRecovery: true });
    expect(await read()).toBeUndefined();
  });

  test("any of ours is found on a later page, and none in what is like it", async () => {
    const { front, store, put } = await aStore();
    for (let n = 0; n < 101; n++)
      await front.others.createSecret({
        Name: `${n}`,
        SecretString: "x",
        Tags: tagsOf("groupsync", "default2"),
      });
    expect(await store.holdsAny()).toBe(false);
    await put("a", "token");
    expect(await store.holdsAny()).toBe(true);
  });
});

realSecretStoreSuite(
  "AWS Secrets Manager",
  "GROUPSYNC_TEST_AWS",
  (region, scope) => new AwsStore({ region, scope }),
);
