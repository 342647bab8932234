import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { tokenFindings } from "../../../src/engine/check/tokens.ts";
import { Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { BASE_URL, tenants, World } from "../../fakes/world.ts";
import { allOf, signsOf } from "./findings.ts";

interface Faults {
  /** The call at which the fault shows. */
  readonly call?: string;
  readonly error?: SyncError;
}

const find = (world: World, { call, error }: Faults = {}) => {
  const fate = {
    at: (point: { readonly call: string }) => {
      if (error && point.call === call) throw error;
    },
  };
  const { ledger, tokens } = world.ports(new Instance(fate), new VirtualClock(world.time));
  return allOf(tokenFindings({ ledger, tokens }, { name: "default", baseUrl: BASE_URL, canary: false }));
};

test("a store of one's own is well, empty or not", async () => {
  const world = new World(tenants("a"));
  expect(signsOf(await find(world))).toEqual(["✓"]);
  await world.sync();
  expect(signsOf(await find(world))).toEqual(["✓"]);
});

test("tokens of another config are what a sync says", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  world.store.owner = { name: "production", baseUrl: BASE_URL, teamId: 7, ledgerId: "another" };
  const found = await find(world);
  // Nothing else: no write was tried there.
  expect(signsOf(found)).toEqual(["✗ CONFIG_TOKENS_OWNED"]);
  expect(found[0]?.hint).toContain("wipe the mark off");
});

test("while the ledger's groups live at another service, nothing is written", async () => {
  const world = new World(tenants("a"));
  await world.sync();
  const { ledger, tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const ports = {
    ledger,
    tokens: Object.assign(tokens, { rehearse: () => Promise.reject(new Error("written")) }),
  };
  const settings = { name: "default", baseUrl: "https://staging.example.com", canary: true };
  expect(signsOf(await allOf(tokenFindings(ports, settings)))).toEqual(["!"]);
});

test("tokens that the ledger knows nothing of are a warning, as in a sync", async () => {
  const world = new World(tenants("a"));
  world.store.tokens.set("a", "token-a");
  expect(signsOf(await find(world))).toEqual(["✓", "! LEDGER_EMPTY"]);
});

test("a store that refuses writes is a failure", async () => {
  const error = new SyncError("TOKEN_STORE_UNAVAILABLE", "user app may not write tokens to t");
  const refused = find(new World(), { call: "inspectTokens", error });
  await expect(refused).rejects.toMatchObject({ code: "TOKEN_STORE_UNAVAILABLE" });
});

test("if the ledger can't be read, the store is looked at, and nothing is written", async () => {
  const world = new World();
  const { ledger, tokens } = world.ports(new Instance(), new VirtualClock(world.time));
  const away = async (): Promise<never> => {
    throw new SyncError("LEDGER_UNAVAILABLE", "no such host");
  };
  let inspected = 0;
  const ports = {
    ledger: { ...ledger, service: away, id: away },
    tokens: {
      destinations: tokens.destinations,
      holdsAny: () => tokens.holdsAny(),
      inspect: async () => void inspected++,
      rehearse: away,
    },
  };
  const settings = { name: "default", baseUrl: BASE_URL, canary: true };
  expect(signsOf(await allOf(tokenFindings(ports, settings)))).toEqual(["!"]);
  expect(inspected).toBe(1);
});
