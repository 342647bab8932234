import { describe, expect, it } from "vitest";
import {
  MOST_REMEMBERED,
  type Rejection,
  RejectionMemory,
  type RememberedRejection,
  reasonsOf,
  rejectedRows,
} from "../../../src/core/group/rejections.ts";
import { aRejectedTenant, aRejection } from "../../builders/groups.ts";

const SINCE = new Date("2026-03-01T00:00:00Z");

const known = (overrides: Partial<Rejection> = {}, since = SINCE): RememberedRejection => ({
  ...aRejection(overrides),
  since,
});

/** A rejected tenant whose rejection is `aRejection` with the same overrides. */
const tenant = ({ rows: _, ...overrides }: Partial<Rejection> = {}) =>
  aRejectedTenant({ message: aRejection().message, ...overrides });

function compare(
  remembered: readonly RememberedRejection[],
  seen: readonly ReturnType<typeof tenant>[],
  { isWhole = true, isAbout = (_: string): boolean => true } = {},
) {
  const memory = new RejectionMemory(remembered, isWhole);
  for (const one of seen) memory.see(one);
  return memory.changes(isAbout);
}

const NOTHING = { changed: [], appeared: [], gone: [] };

describe("the memory of rejected rows", () => {
  it("changes nothing if the same rows are rejected for the same reasons", () => {
    const counted = known({ user_group_id: null, code: "ID_NULL", rows: 2 });
    const withoutId = tenant({ user_group_id: null, code: "ID_NULL" });
    expect(compare([counted, known()], [withoutId, tenant(), withoutId])).toEqual(NOTHING);
    expect(compare([], [])).toEqual(NOTHING);
  });

  it("has each row that is new, and tells which", () => {
    const appeared = [aRejection({ user_group_id: "b" })];
    expect(compare([known()], [tenant(), tenant({ user_group_id: "b" })])).toEqual({
      changed: appeared,
      appeared,
      gone: [],
    });
  });

  it("tells of rows that are rejected no more", () => {
    const [id, counted] = [known(), known({ user_group_id: null, code: "ID_NULL", rows: 2 })];
    expect(compare([counted, id], [])).toEqual({ ...NOTHING, gone: [id, counted] });
  });

  it.each<[string, Partial<Rejection>]>([
    ["message", { message: "another column is null" }],
    ["bucket", { bucket: 8 }],
  ])("keeps a row whose %s is another", (_, change) => {
    expect(compare([known()], [tenant(change)])).toEqual({ ...NOTHING, changed: [aRejection(change)] });
  });

  it("takes a row that is rejected for another reason for a new one", () => {
    const another = { code: "VALUE_UNUSABLE" } as const;
    const appeared = [aRejection(another)];
    expect(compare([known()], [tenant(another)])).toEqual({ changed: appeared, appeared, gone: [known()] });
  });

  it.each([null, "", "a\0b", "x".repeat(513)])(
    "counts rows with the id %j by their codes",
    (user_group_id) => {
      const rejected = tenant({ user_group_id, code: "ID_NULL" });
      const counted = { user_group_id: null, code: "ID_NULL" } as const;
      expect(compare([], [rejected, rejected]).appeared).toEqual([aRejection({ ...counted, rows: 2 })]);
      expect(compare([known({ ...counted, rows: 3 })], [rejected])).toEqual({
        ...NOTHING,
        changed: [aRejection({ ...counted, rows: 1 })],
      });
    },
  );

  it("of some rows forgets only these, and leaves counts alone", () => {
    const [a, b] = [known({ user_group_id: "a" }), known({ user_group_id: "b" })];
    const counted = known({ user_group_id: null, rows: 2 });
    const some = { isWhole: false, isAbout: (id: string) => id === "a" };
    expect(compare([counted, a, b], [], some)).toEqual({ ...NOTHING, gone: [a] });
    expect(compare([counted, a, b], [tenant({ user_group_id: "a" })], some)).toEqual(NOTHING);
  });

  it("of all rows leaves tenants alone that somebody else has looked at", () => {
    const [a, b] = [known({ user_group_id: "a" }), known({ user_group_id: "b" })];
    expect(compare([a, b], [], { isAbout: (id) => id === "a" })).toEqual({ ...NOTHING, gone: [a] });
  });

  it("is bounded: beyond that, rows are counted by their codes, and rows that are remembered stay so", () => {
    const idOf = (n: number): string => String(n).padStart(5, "0");
    const all = Array.from({ length: MOST_REMEMBERED + 7 }, (_, n) => tenant({ user_group_id: idOf(n) }));
    const first = compare([], all);
    expect(first.appeared).toHaveLength(MOST_REMEMBERED + 1);
    expect(first.appeared.at(-1)).toEqual(aRejection({ user_group_id: null, rows: 7 }));

    const remembered = first.appeared.map((rejection) => ({ ...rejection, since: SINCE }));
    expect(compare(remembered, all)).toEqual(NOTHING);
    // A row that comes before all others takes nobody's place.
    expect(compare(remembered, [tenant({ user_group_id: "0" }), ...all])).toEqual({
      ...NOTHING,
      changed: [aRejection({ user_group_id: null, rows: 8 })],
    });
    const [gone, ...others] = all;
    expect(compare(remembered, others)).toMatchObject({
      appeared: [aRejection({ user_group_id: idOf(MOST_REMEMBERED) })],
      gone: [{ user_group_id: gone?.user_group_id }],
    });
    expect(
      compare(remembered, [tenant({ user_group_id: "0" })], { isWhole: false, isAbout: () => false }),
    ).toEqual(NOTHING);
  });

  it("has a message as every database keeps it, so that it never counts as another", () => {
    const [{ message } = aRejection()] = compare(
      [],
      [tenant({ message: `\0\ud800${"x".repeat(2_000)}` })],
    ).appeared;
    expect(message).toBe(`\ufffd\ufffd${"x".repeat(998)}`);
  });
});

it("the reasons are those of the rows, that of the most rows first, with the oldest time", () => {
  const later = new Date("2026-03-02T00:00:00Z");
  const rejections = [
    known({ user_group_id: null, code: "ID_NULL", message: "column id is null", rows: 1 }),
    known({ user_group_id: "a" }, later),
    known({ user_group_id: "b" }),
    known({ user_group_id: null, rows: 4 }, later),
  ];
  expect(reasonsOf(rejections)).toEqual([
    { code: "VALUE_NULL", message: aRejection().message, rows: 6, since: SINCE, ids: ["a", "b"] },
    { code: "ID_NULL", message: "column id is null", rows: 1, since: SINCE, ids: [] },
  ]);
  expect(rejectedRows(rejections)).toBe(7);
});
