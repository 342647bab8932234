import { expect, onTestFinished } from "vitest";
import type { SecretStore } from "../../../src/adapters/token-stores/secret-store.ts";
import { SecretTokenStore } from "../../../src/adapters/token-stores/secret-token-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { type SecretPath, secretName } from "../../../src/core/tokens/secrets.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { inNoLedger, isOfBOrD, type TokenPlace } from "../../contracts/token-store.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

/** A secret store, and what a test can do with whatever is behind it. */
export interface SecretWorld extends Pick<TokenPlace, "refuseSome" | "keepSome" | "breakDown" | "forbid"> {
  readonly secrets: SecretStore;
  /** What is stored, by the secret's name. */
  contents(): Promise<Readonly<Record<string, string>>>;
  /** Somebody else makes a secret of this name, with these tags. */
  makeAnothers?(name: string, tags: Readonly<Record<string, string>>): Promise<void>;
}

/** A vendor's server that a test can answer for. */
interface FaultyServer<Call, Reply> {
  instead: (call: Call) => Reply | undefined;
}

/** What the contract's faults look like in one vendor's API. */
interface FaultWords<Call, Reply> {
  /** All that a call says: the name of its secret, and the token if it sends one. */
  textOf(call: Call): string;
  isWrite(call: Call): boolean;
  isRemoval(call: Call): boolean;
  /** Concerns one secret alone, and quotes its token. */
  refusal(token: string): Reply;
  readonly denial: Reply;
}

/** Makes go wrong what the contract of token stores wants to go wrong. */
export const faultsOn = <Call, Reply>(
  server: FaultyServer<Call, Reply>,
  { textOf, isWrite, isRemoval, refusal, denial }: FaultWords<Call, Reply>,
): Pick<SecretWorld, "refuseSome" | "keepSome" | "forbid"> => ({
  refuseSome: async () => {
    server.instead = (call) => {
      const [token] = /refused-[bd]/.exec(textOf(call)) ?? [];
      return token !== undefined && isWrite(call) ? refusal(token) : undefined;
    };
  },
  keepSome: async () => {
    server.instead = (call) =>
      isRemoval(call) && isOfBOrD(textOf(call)) ? refusal("kept-b or kept-d") : undefined;
  },
  forbid: async (which) => {
    server.instead = (call) => (which === "all" || isOfBOrD(textOf(call)) ? denial : undefined);
  },
});

/** Fits every store. */
export const PATH: SecretPath = ["t-", ""];

/** A place for tokens in this store, which is closed with the test. Patience takes no time here. */
export function aSecretPlace(world: SecretWorld, path: SecretPath = PATH): TokenPlace {
  const { secrets, contents } = world;
  const store = new SecretTokenStore(secrets, { path, format: "token" }, new VirtualClock(new VirtualTime()));
  onTestFinished(() => secrets.close());
  return {
    store,
    write: inNoLedger,
    stored: async () =>
      Object.fromEntries(
        Object.entries(await contents()).map(([name, content]) => [idIn(name, path, secrets), content]),
      ),
    refuseSome: () => world.refuseSome(),
    keepSome: () => world.keepSome(),
    breakDown: () => world.breakDown(),
    ...(world.forbid && { forbid: world.forbid }),
    makeAnothers: async (id, tags) => world.makeAnothers?.(secretName(id, path, secrets.naming), tags),
  };
}

/** Expects that each call fails in this way, and that no error has anything of what must not be seen. */
export async function expectEachToFail(store: SecretStore, failure: object, unseen: RegExp): Promise<void> {
  const calls = [
    () => store.get("t-a"),
    () => store.put("t-a", new Secret("s3cr3t"), () => false),
    () => store.remove("t-a"),
  ];
  for (const call of calls) {
    const error = await rejection(call());
    const words = { name: "SecretStoreFailure", hint: expect.stringMatching(/./) };
    expect(error).toMatchObject({ ...words, ...failure });
    expect(everythingIn(error)).not.toMatch(unseen);
  }
}

/** The id that a name of a secret was made of, if it is not a hash. */
function idIn(name: string, [before, after]: SecretPath, { naming }: SecretStore): string {
  const encoded = name.slice(before.length, name.length - after.length);
  const byte = new RegExp(`${naming.escape}([0-9A-Fa-f]{2})`, "g");
  const bytes = encoded.replaceAll(byte, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
