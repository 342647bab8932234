import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import type { RotationPolicy } from "../../../src/core/rotation/rotation-policy.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { RotationSelection } from "../../../src/engine/rotate.ts";
import { failing, type Point } from "../../fakes/instance.ts";
import { aSyncedWorld, type World } from "../../fakes/world.ts";
import { someOf } from "../../support/long.ts";

const IDS = ["a", "b", "c", "d"];

const DAY = 86_400_000;

const ALL: RotationSelection = { kind: "all" };

const only = (...ids: string[]): RotationSelection => ({ kind: "only", ids: new Set(ids) });

const policy = (overrides: Partial<RotationPolicy>): { rotation: RotationPolicy } => ({
  rotation: { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1, ...overrides },
});

const fails = (code: ServiceFailureCode, when: Point["when"], id: string, times = 1) =>
  failing(when, "rotate", () => new ServiceFailure(code, `POST: ${code}`), { ids: [id], times });

const fingerprint = (token: string | undefined): string => tokenFingerprint(new Secret(token ?? ""));

describe("a rotation", () => {
  it("records by fingerprint which token was live when", async () => {
    const world = await aSyncedWorld(IDS);
    const made = world.time.now();
    const former = tokenFingerprint(new Secret(world.service.tokens.get("a") ?? ""));
    await world.time.sleep(DAY);
    await world.rotate(only("a"));
    expect(world.ledger.formerTokens).toMatchObject([
      { user_group_id: "a", fingerprint: former, since: made },
    ]);
    expect(world.ledger.rows.get("a")).toMatchObject({
      tokenFingerprint: tokenFingerprint(new Secret(world.service.tokens.get("a") ?? "")),
      tokenSince: world.ledger.formerTokens[0]?.until,
    });
  });

  it.each<[string, (world: World) => void, string[]]>([
    ["the store lost the token", (world) => world.store.tokens.delete("a"), ["GET a", "POST a"]],
    [
      "another program rotated it",
      (world) => {
        const held = world.service.groups.get("a");
        if (held) held.token = "another";
      },
      ["POST a", "GET a", "POST a"],
    ],
    [
      "another program rotated it and stored the new token",
      (world) => {
        const held = world.service.groups.get("a");
        if (held) held.token = "another";
        world.store.tokens.set("a", "another");
      },
      ["GET a", "POST a"],
    ],
    [
      "the store has another group's token for it",
      (world) => world.store.tokens.set("a", world.store.tokens.get("b") ?? ""),
      ["GET a", "POST a"],
    ],
    [
      "another program rotated it, and the service says of each group that it is new",
      (world) => {
        world.service.saysNew = true;
        const held = world.service.groups.get("a");
        if (held) held.token = "another";
      },
      ["POST a", "GET a", "POST a"],
    ],
    ["the group is gone", (world) => world.service.groups.delete("a"), ["POST a", "GET a", "POST a"]],
  ])("ends with the live token stored if %s", async (_, change, sent) => {
    const world = await aSyncedWorld(IDS);
    const former = world.service.tokens.get("a");
    change(world);
    expect(await world.rotate(only("a"))).toMatchObject({ outcome: "ok", counts: { rotated: 1 } });
    expect(world.sent).toEqual(sent);
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(world.service.tokens.get("a")).not.toBe(former);
  });

  it.each<[string, Point["when"], ServiceFailureCode, number]>([
    ["is done if only the answer was lost", "after", "CONNECTION_LOST", 1],
    ["is done if the answer can't be read", "after", "BAD_RESPONSE", 1],
    ["is still due if the request was lost", "before", "CONNECTION_LOST", 0],
    ["is still due if the service failed", "before", "SERVICE_ERROR", 0],
  ])("%s, and no POST is repeated without a GET", async (_, when, code, rotated) => {
    const world = await aSyncedWorld(IDS);
    const report = await world.rotate(only("a"), { at: fails(code, when, "a") });
    expect(report.counts).toMatchObject({ rotated, failed: 1 - rotated });
    expect(world.sent.join()).not.toContain("POST a,POST a");
    expect(world.store.tokens).toEqual(world.service.tokens);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { rotated: 1 - rotated } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each([1, 3])(
    "whose new token the store refuses holds all others back until the store takes it (%i at once)",
    async (concurrency) => {
      const world = await aSyncedWorld(IDS);
      const settings = policy({ concurrency });
      let posted = 0;
      let isFull = true;
      const at = ({ when, call }: Point): void => {
        if (when !== "after" || call !== "rotate") return;
        posted++;
        if (isFull) for (const id of IDS) world.store.refused.add(id);
      };
      const { report, events } = world.startRotation(ALL, { settings, at });
      await world.time.sleep(50_000);
      const unstored = IDS.filter((id) => world.store.tokens.get(id) !== world.service.tokens.get(id));
      expect(posted).toBeLessThanOrEqual(concurrency);
      expect(unstored).toHaveLength(posted);
      expect(events).toContainEqual(expect.objectContaining({ kind: "unstored", code: "TOKEN_NOT_STORED" }));

      isFull = false;
      world.store.refused.clear();
      expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 4 } });
      expect(world.store.tokens).toEqual(world.service.tokens);
    },
  );

  /** The store refuses `ids` from the first POST on; one of two rotations that begin together is late. */
  const refusedWhileLate = (world: World, lateCall: string, ids: readonly string[]) => {
    let [posted, seen] = [0, 0];
    return async ({ when, call }: Point): Promise<void> => {
      if (when === "after" && call === "rotate" && ++posted === 1)
        for (const id of ids) world.store.refused.add(id);
      if (when === "before" && call === lateCall && ++seen === 2) await world.time.sleep(20_000);
    };
  };

  it("whose token waits to be stored holds all others back, even if the store has taken another token since", async () => {
    const world = await aSyncedWorld(IDS);
    const at = refusedWhileLate(world, "writeTokens", ["a"]);
    const { report } = world.startRotation(ALL, { settings: policy({ concurrency: 2 }), at });
    await world.time.sleep(50_000);
    expect(world.sent).toEqual(["POST a", "POST b"]);
    world.store.refused.clear();
    expect(await report).toMatchObject({ outcome: "ok", counts: { rotated: 4, failed: 0 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

describe("a rotation whose run dies at any moment", () => {
  it.each(
    someOf(
      [
        { sharesLedger: true, concurrency: 1 },
        { sharesLedger: false, concurrency: 3 },
        { sharesLedger: false, concurrency: 1 },
      ],
      2,
    ),
  )(
    "is done by the next sync at the latest, with every live token stored ($concurrency at once, one database: $sharesLedger)",
    async ({ sharesLedger, concurrency }) => {
      for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
        const world = await aSyncedWorld(IDS);
        world.store.sharesLedger = sharesLedger;
        const before = world.service.tokens;
        end = await world.startRotation(ALL, { diesAt, settings: policy({ concurrency }) }).report;
        const unstored = IDS.filter((id) => world.store.tokens.get(id) !== world.service.tokens.get(id));
        expect(unstored.length).toBeLessThanOrEqual(concurrency);
        // All are wanted before the first is sent.
        const isWanted = [...world.ledger.rows.values()].some(({ wantedSince }) => wantedSince !== null);
        const isAsked = isWanted || world.sent.length > 0;

        expect({ diesAt, outcome: (await world.sync()).outcome }).toEqual({ diesAt, outcome: "ok" });
        expect(world.store.tokens).toEqual(world.service.tokens);
        // The ledger knows that all rotations are done, and the tokens before them.
        const done = IDS.filter(
          (id) => world.ledger.rows.get(id)?.tokenFingerprint !== fingerprint(before.get(id)),
        );
        expect({ diesAt, done }).toEqual({ diesAt, done: isAsked ? IDS : [] });
        const former = world.ledger.formerTokens.map((token) => token.fingerprint);
        expect(former).toEqual(expect.arrayContaining(done.map((id) => fingerprint(before.get(id)))));
      }
    },
  );
});

describe("a service that refuses every rotation", () => {
  const MANY = Array.from({ length: 150 }, (_, n) => `t${String(n).padStart(3, "0")}`);

  it.each<[ServiceFailureCode, number]>([
    ["SERVICE_ERROR", 5],
    ["BAD_RESPONSE", 100],
    ["KEY_REFUSED", 3],
  ])(
    "with %s but answers every GET ends the run after %i tokens, and the next run as well",
    async (code, tokens) => {
      const world = await aSyncedWorld(MANY);
      const at = (point: Point): void => {
        if (point.call === "rotate" && point.when === "before")
          throw new ServiceFailure(code, `POST: ${code}`);
      };
      for (const run of [1, 2]) {
        const report = await world.rotate(ALL, { at });
        expect(report.error).toMatchObject({ code: "SERVICE_UNAVAILABLE", cause: { code } });
        // The groups that were refused alone in the first run don't count in the second.
        expect(report.requests).toBeLessThanOrEqual(3 * tokens * (code === "KEY_REFUSED" ? run : 1));
      }
      expect(await world.rotate()).toMatchObject({ outcome: "ok", counts: { rotated: 150 } });
    },
  );

  it("is told from a service that lost its groups, which a rotation creates again", async () => {
    const world = await aSyncedWorld(MANY);
    world.service.groups.clear();
    expect(await world.rotate()).toMatchObject({ outcome: "ok", counts: { rotated: 150 } });
  });
});
