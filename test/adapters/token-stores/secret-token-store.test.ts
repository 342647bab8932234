import { describe, expect, test } from "vitest";
import {
  SecretStoreFailure,
  type SecretStoreProblem,
} from "../../../src/adapters/token-stores/secret-store.ts";
import { SecretTokenStore } from "../../../src/adapters/token-stores/secret-token-store.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { TokenFormat } from "../../../src/core/tokens/secrets.ts";
import type { StoredToken } from "../../../src/ports/token-store.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import {
  isOfBOrD,
  removeTokens,
  secretStoreContract,
  someTokens,
  writeTokens,
} from "../../contracts/token-store.ts";
import { InMemorySecretStore } from "../../fakes/secret-store.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { aSecretPlace, PATH } from "./a-secret-place.ts";

secretStoreContract("secrets in memory", async () => {
  const secrets = new InMemorySecretStore();
  return aSecretPlace({
    secrets,
    contents: async () =>
      Object.fromEntries([...secrets.secrets].map(([name, { content }]) => [name, content.reveal()])),
    refuseSome: async () => {
      secrets.refuses = (content) => content.reveal().startsWith("refused");
    },
    keepSome: async () => {
      secrets.keeps = (content) => content.reveal().startsWith("kept");
    },
    breakDown: async () => {
      secrets.atCall = failing("unavailable");
    },
    makeAnothers: async (name) => void someoneElses(secrets, name),
    forbid: async (which) => {
      secrets.atCall = (_, name) => {
        if (which === "all" || isOfBOrD(name)) failing("unavailable")();
      };
    },
  });
});

const someoneElses = (
  { secrets }: InMemorySecretStore,
  name: string,
  content = "theirs",
  isManaged = false,
) => secrets.set(name, { content: new Secret(content), isManaged });

const failing = (problem: SecretStoreProblem) => (): never => {
  throw new SecretStoreFailure(problem, "no answer", "is it running?");
};

function aStore(format: TokenFormat = "token") {
  const time = new VirtualTime();
  const secrets = new InMemorySecretStore();
  const store = new SecretTokenStore(secrets, { path: PATH, format }, new VirtualClock(time));
  const write = (tokens: Readonly<Record<string, string>>, options?: Parameters<typeof writeTokens>[2]) =>
    writeTokens({ store }, tokens, options);
  const read = async (...ids: string[]) =>
    Object.fromEntries([...(await store.read(ids))].map(([id, token]) => [id, token.reveal()]));
  const remove = (ids: readonly string[], assertHeld?: () => void) =>
    removeTokens({ store }, ids, assertHeld);
  /** A secret that somebody else has made, or changed. */
  const someoneMakes = (name: string, content: string, isManaged = false) =>
    someoneElses(secrets, name, content, isManaged);
  return { time, secrets, store, write, read, remove, someoneMakes };
}

describe("a token in a secret", () => {
  test("that is there already is not written again, unless that is asked for", async () => {
    const { secrets, write } = aStore();
    await write({ a: "token-a", b: "token-b" });
    await write({ a: "token-a", b: "token-2" });
    expect(secrets.written).toEqual(["t-a", "t-b", "t-b"]);
    await write({ a: "token-a" }, { rewrite: true });
    expect(secrets.written).toEqual(["t-a", "t-b", "t-b", "t-a"]);
  });

  test("carries its group's id and its time along, in JSON", async () => {
    const { time, secrets, write, read } = aStore("json");
    const rotated_at = time.now().toISOString();
    await write({ a: "token-a" });
    expect(JSON.parse(secrets.secrets.get("t-a")?.content.reveal() ?? "")).toEqual({
      user_group_id: "a",
      token: "token-a",
      rotated_at,
    });
    expect(await read("a")).toEqual({ a: "token-a" });
  });

  test.each([
    ["that fails for good", failing("passing")],
    ["at which the vendor's client breaks", () => expect.fail("token-b")],
  ])("%s costs that tenant alone", async (_, fail) => {
    const { secrets, store, write, read } = aStore();
    const mark = { name: "default", baseUrl: "https://service", teamId: 1, ledgerId: "L1" };
    await store.destinations[0]?.claim(mark, null);
    secrets.atCall = (_, name) => {
      if (name === "t-b") fail();
    };
    const refused = await write({ a: "token-a", b: "token-b", c: "token-c" });
    expect([...refused]).toEqual([["b", expect.objectContaining({ code: "TOKEN_NOT_STORED" })]]);
    expect(everythingIn(refused.get("b"))).not.toContain("token-b");
    expect(await read("a", "b", "c")).toEqual({ a: "token-a", c: "token-c" });
  });
});

describe("a secret store", () => {
  test.each<[SecretStoreProblem, string]>([
    ["unavailable", "TOKEN_STORE_UNAVAILABLE"],
    ["passing", "TOKEN_STORE_UNAVAILABLE"],
    ["throttled", "TOKEN_STORE_UNAVAILABLE"],
  ])("that stays %s is told as %s", async (problem, code) => {
    const { secrets, store, write, read, remove } = aStore();
    secrets.atCall = failing(problem);
    const calls = [
      () => store.prepare(),
      () => store.inspect(),
      () => write({ a: "token-a" }),
      () => read("a"),
      () => remove(["a"]),
    ];
    for (const call of calls) {
      expect(await rejection(call())).toMatchObject({
        code,
        message: expect.stringMatching(/^cannot (use|read|write) the secrets: no answer$/),
        hint: "is it running?",
      });
    }
  });

  test("is asked for no other token once the run is to end", async () => {
    const { time, secrets, store } = aStore();
    const ending = new AbortController();
    let calls = 0;
    secrets.atCall = () => {
      calls++;
      return time.sleep(1_000);
    };
    const ids = Array.from({ length: 100 }, (_, n) => `id-${n}`);
    const read = rejection(store.read(ids, ending.signal));
    await time.sleep(1_500);
    ending.abort();
    expect(await read).toMatchObject({ code: "INTERRUPTED" });
    expect(calls).toBe(16);
    expect(time.elapsed).toBe(2_000);
  });

  test("is not asked for another token once it isn't available", async () => {
    const { secrets, write } = aStore();
    let calls = 0;
    secrets.atCall = (call) => {
      if (call === "put") calls++;
      failing("unavailable")();
    };
    const tokens = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`id-${n}`, "token"]));
    await rejection(write(tokens));
    expect(calls).toBeLessThanOrEqual(16);
  });

  test("that takes each token slowly gets all of them", async () => {
    const { time, secrets, write, remove } = aStore();
    secrets.atCall = (call) => (call === "get" ? undefined : time.sleep(10_000));
    const tokens = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`id-${n}`, "token"]));
    expect(await write(tokens)).toEqual(new Map());
    expect(await remove(Object.keys(tokens))).toEqual(new Map());
    expect(time.elapsed).toBe(160_000);
  });

  test("that asks to wait keeps no run that is to end", async () => {
    const { time, secrets, store } = aStore();
    const ending = new AbortController();
    secrets.atCall = failing("throttled");
    const [token] = someTokens({ a: "token-a" }) as [StoredToken];
    const put = rejection(store.put(token, { signal: ending.signal }));
    await time.sleep(60_000);
    ending.abort();
    expect(await put).toMatchObject({ code: "INTERRUPTED" });
    expect(time.elapsed).toBe(60_000);
  });

  test("is given no other token, and loses none, once it is too late for that", async () => {
    const { secrets, write, remove } = aStore();
    const tokens = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`id-${n}`, "token"]));
    await write(tokens);
    const newer = Object.fromEntries(Object.keys(tokens).map((id) => [id, "newer"]));
    const untilLost = () => {
      let left = 20;
      return () => {
        if (left-- <= 0) throw new SyncError("LEASE_LOST", "another instance has taken it");
      };
    };
    const lost = { code: "LEASE_LOST" };
    const written = () => secrets.written.length;
    expect(await rejection(write(newer, { assertHeld: untilLost() }))).toMatchObject(lost);
    expect(written()).toBe(64 + 20);
    expect(await rejection(remove(Object.keys(tokens), untilLost()))).toMatchObject(lost);
    expect(secrets.secrets.size).toBe(64 - 20);
  });
});

const OURS = { name: "default", baseUrl: "https://dashboards.example.com", teamId: 7, ledgerId: "L1" };

describe("one secret that is refused alone", () => {
  test("doesn't let a login that is lost after it charge the other tenants", async () => {
    const { secrets, store, write } = aStore();
    await store.destinations[0]?.claim(OURS, null);
    let calls = 0;
    secrets.atCall = (_, name) => {
      if (name.endsWith("t-a") || ++calls > 60) failing("unavailable")();
    };
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [n === 0 ? "a" : `t${n}`, "token"]),
    );
    await expect(write(many)).rejects.toMatchObject({
      code: "TOKEN_STORE_UNAVAILABLE",
    });
  });

  test("is told in the words of all others, whatever its name is like", async () => {
    const { secrets, store, write } = aStore();
    await store.destinations[0]?.claim(OURS, null);
    secrets.atCall = (_, name) => {
      if (name.includes("Kunde"))
        throw new SecretStoreFailure("unavailable", `HTTP 403 on ${name}`, "look at its policy");
    };
    const refused = await write({ "Kunde a": "1", "Kunde b": "2" });
    const messages = [...refused.values()].map(({ message }) => message);
    expect(messages).toHaveLength(2);
    expect(new Set(messages).size).toBe(1);
    expect(refused.get("Kunde a")?.hint).toMatch(/^look at its policy; .*Kunde=20a/);
  });
});

describe("the owner's mark", () => {
  test("is waited for if the store shows it only after a moment", async () => {
    const { secrets, store } = aStore();
    let misses = 2;
    const get = secrets.get.bind(secrets);
    secrets.get = async (name) => (secrets.written.length > 0 && misses-- > 0 ? undefined : get(name));
    expect(await store.destinations[0]?.claim(OURS, null)).toBe(true);
    expect(misses).toBe(-1);
  });

  test("tells that tokens may be there only once the service has confirmed its team", async () => {
    const { store } = aStore();
    const [destination] = store.destinations;
    const unconfirmed = { ...OURS, teamId: null };
    await destination?.claim(unconfirmed, null);
    expect(await store.destinations[0]?.holdsAny()).toBe(false);
    await destination?.claim(OURS, unconfirmed);
    expect(await store.destinations[0]?.holdsAny()).toBe(true);
  });
});
