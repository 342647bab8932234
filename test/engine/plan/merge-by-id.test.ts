import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LedgerGroup } from "../../../src/core/group/ledger-group.ts";
import type { Tenant } from "../../../src/core/group/tenant.ts";
import { mergeById, readAhead } from "../../../src/engine/plan/merge-by-id.ts";
import { anyId } from "../../builders/arbitraries.ts";
import { aDesiredTenant, aLedgerGroup, aRejectedTenant } from "../../builders/groups.ts";
import { rounds } from "../../support/long.ts";

const sorted = (ids: Iterable<string>): string[] =>
  [...new Set(ids)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** Items in batches of these sizes, the empty ones too; notes whether it was opened and closed. */
class Batches<T> implements AsyncIterable<readonly T[]> {
  opened = false;
  closed = false;
  readonly #items: readonly T[];
  readonly #sizes: readonly number[];
  readonly #failAfter: number;

  constructor(items: readonly T[], sizes: readonly number[] = [2], failAfter = Infinity) {
    this.#items = items;
    this.#sizes = sizes;
    this.#failAfter = failAfter;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly T[]> {
    this.opened = true;
    try {
      for (let n = 0, start = 0; start < this.#items.length; n++) {
        if (n === this.#failAfter) throw new Error("cut");
        const size = this.#sizes[n % this.#sizes.length] ?? 1;
        yield this.#items.slice(start, start + size);
        start += size;
      }
    } finally {
      this.closed = true;
    }
  }
}

const anySizes = fc
  .array(fc.nat(3), { minLength: 1, maxLength: 4 })
  .filter((sizes) => sizes.some((size) => size > 0));
const anyIds = fc.array(anyId(), { maxLength: 12 });
const tenant = (id: string) => aDesiredTenant({ user_group_id: id });
const group = (id: string) => aLedgerGroup({ user_group_id: id });
const ids = ["a", "b", "c", "d", "e", "f"];

describe("a merge of the source and the ledger", () => {
  it("visits every id once, in the order of its bytes, with the tenant and the group", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyIds,
        anyIds,
        anyIds,
        anySizes,
        anySizes,
        async (left, right, both, leftSizes, rightSizes) => {
          const inSource = sorted([...left, ...both]);
          const inLedger = sorted([...right, ...both]);
          const visits: [string | null | undefined, string | undefined][] = [];
          await mergeById(
            new Batches(inSource.map(tenant), leftSizes),
            new Batches(inLedger.map(group), rightSizes),
            (one, other) => visits.push([one?.user_group_id, other?.user_group_id]),
          );
          const side = (ids: string[], id: string) => (ids.includes(id) ? id : undefined);
          expect(visits).toEqual(
            sorted([...inSource, ...inLedger]).map((id) => [side(inSource, id), side(inLedger, id)]),
          );
        },
      ),
      { numRuns: rounds(1_000) },
    );
  });

  it("visits each row without an id by itself", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyIds,
        fc.array(fc.nat(12), { maxLength: 4 }),
        anySizes,
        async (some, places, sizes) => {
          const known = sorted(some);
          const rows: Tenant[] = known.map(tenant);
          for (const place of places) rows.splice(place, 0, aRejectedTenant({ user_group_id: null }));
          const visits: [string | null | undefined, string | undefined][] = [];
          await mergeById(new Batches(rows, sizes), new Batches(known.map(group), sizes), (one, other) =>
            visits.push([one?.user_group_id, other?.user_group_id]),
          );
          expect(visits.filter(([id]) => id === null)).toEqual(places.map(() => [null, undefined]));
          expect(visits.filter(([id]) => id !== null)).toEqual(known.map((id) => [id, id]));
        },
      ),
    );
  });

  it("waits for the source and the ledger at the same time", async () => {
    let tell = (): void => {};
    const ledgerAsked = new Promise<void>((resolve) => {
      tell = resolve;
    });
    async function* tenants(): AsyncGenerator<readonly Tenant[]> {
      await ledgerAsked;
      yield [tenant("a")];
    }
    async function* groups(): AsyncGenerator<readonly LedgerGroup[]> {
      tell();
      yield [group("a")];
    }
    const visits: unknown[] = [];
    await mergeById(tenants(), groups(), (one, other) =>
      visits.push([one?.user_group_id, other?.user_group_id]),
    );
    expect(visits).toEqual([["a", "a"]]);
  });
});

describe("source and ledger are closed", () => {
  const cases: [string, Batches<Tenant>, Batches<LedgerGroup>, (id: string) => void][] = [
    ["at the end", new Batches(ids.map(tenant)), new Batches(ids.map(group)), () => {}],
    ["where one is much longer", new Batches(ids.map(tenant), [1]), new Batches([group("a")]), () => {}],
    [
      "where the source fails",
      new Batches(ids.map(tenant), [2], 2),
      new Batches(ids.map(group), [1]),
      () => {},
    ],
    [
      "where the ledger fails",
      new Batches(ids.map(tenant), [1]),
      new Batches(ids.map(group), [2], 1),
      () => {},
    ],
    [
      "where the source fails at once",
      new Batches(ids.map(tenant), [2], 0),
      new Batches(ids.map(group)),
      () => {},
    ],
    [
      "where a visit fails",
      new Batches(ids.map(tenant), [1]),
      new Batches(ids.map(group), [1]),
      (id) => {
        if (id === "c") throw new Error("cut");
      },
    ],
  ];

  it.each(cases)("%s", async (what, tenants, groups, visit) => {
    const merged = mergeById(tenants, groups, (one) => visit(one?.user_group_id ?? ""));
    if (what.endsWith("fails") || what.endsWith("at once")) await expect(merged).rejects.toThrow("cut");
    else await merged;
    expect(tenants.closed).toBe(true);
    expect(groups.closed).toBe(groups.opened);
  });
});

async function* from<T>(items: readonly T[], onRead: (item: T) => void = () => {}): AsyncGenerator<T> {
  for (const item of items) {
    onRead(item);
    yield item;
  }
}

describe("reading ahead", () => {
  it("fetches one batch while the consumer works on the one before", async () => {
    const read: number[] = [];
    const seen: [number, number][] = [];
    for await (const item of readAhead(from([1, 2, 3, 4], (item) => read.push(item)))) {
      await Promise.resolve();
      seen.push([item, read.length]);
    }
    expect(seen).toEqual([
      [1, 2],
      [2, 3],
      [3, 4],
      [4, 4],
    ]);
  });

  it("passes an error on after the batches that came before it", async () => {
    async function* failing(): AsyncGenerator<number> {
      yield 1;
      throw new Error("cut");
    }
    const seen: number[] = [];
    const reading = async (): Promise<void> => {
      for await (const item of readAhead(failing())) seen.push(item);
    };
    await expect(reading()).rejects.toThrow("cut");
    expect(seen).toEqual([1]);
  });

  it("drops the error of a batch that nobody asks for, and lets the producer clean up", async () => {
    let cleanedUp = false;
    async function* failing(): AsyncGenerator<number> {
      try {
        yield 1;
        throw new Error("cut");
      } finally {
        cleanedUp = true;
      }
    }
    for await (const _ of readAhead(failing())) break;
    expect(cleanedUp).toBe(true);
  });
});
