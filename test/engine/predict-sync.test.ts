import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { type PredictionInputs, predictedFailures } from "../../src/engine/predict-sync.ts";
import { BASE_URL } from "../fakes/world.ts";

const failing = (code: string, message: string) => async (): Promise<never> => {
  throw new SyncError(code, message);
};

interface Faults {
  readonly ledger?: () => Promise<void>;
  readonly tokens?: () => Promise<void>;
  readonly knownBaseUrl?: string;
}

function inputs({ ledger, tokens, knownBaseUrl }: Faults): PredictionInputs {
  return {
    ledger: {
      inspect: ledger ?? (async () => {}),
      id: async () => "ledger",
      groups: async function* () {},
      existingCount: async () => 0,
      tokenTables: async () => [],
    },
    tokens: { inspect: tokens ?? (async () => {}), destinations: [], holdsAny: async () => false },
    service: {
      baseUrl: knownBaseUrl ?? null,
      teamId: null,
      updates: null,
      isProbed: false,
      answeredAt: null,
    },
    name: "default",
    baseUrl: BASE_URL,
  };
}

const codesOf = async (faults: Faults): Promise<string[]> =>
  (await predictedFailures(inputs(faults))).map(({ code }) => code);

describe("the failures that a sync would meet", () => {
  it("are none if every check passes", async () => {
    expect(await codesOf({})).toEqual([]);
  });

  it("are all reported, in the order of a sync", async () => {
    const faults = {
      ledger: failing("LEDGER_TOO_NEW", "a newer groupsync made the ledger"),
      tokens: failing("TOKEN_STORE_UNAVAILABLE", "no such directory"),
      knownBaseUrl: "https://elsewhere.example.com",
    };
    expect(await codesOf(faults)).toEqual(["LEDGER_TOO_NEW", "SERVICE_CHANGED", "TOKEN_STORE_UNAVAILABLE"]);
  });

  it("have each message once, and no outdated ledger, which a sync migrates", async () => {
    const missing = failing("LEDGER_UNAVAILABLE", "no such schema");
    expect(await codesOf({ ledger: missing, tokens: missing })).toEqual(["LEDGER_UNAVAILABLE"]);
    expect(await codesOf({ ledger: failing("LEDGER_OUTDATED", "an older groupsync made it") })).toEqual([]);
  });

  it("don't hide a mistake in this program", async () => {
    const mistake = async (): Promise<never> => {
      throw new TypeError("undefined");
    };
    await expect(predictedFailures(inputs({ tokens: mistake }))).rejects.toThrow(TypeError);
  });
});
