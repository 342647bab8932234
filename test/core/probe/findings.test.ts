import { describe, expect, test } from "vitest";
import {
  CANARY_NAME,
  canaryId,
  findingsOf,
  type Observations,
  OTHER_CANARY_NAME,
  type SeenGet,
  type SeenPost,
  updatesBy,
} from "../../../src/core/probe/findings.ts";
import { Secret } from "../../../src/core/secret/secret.ts";

const FIRST = new Secret("first");
const SECOND = new Secret("second");
const THIRD = new Secret("third");

const get = (overrides: Partial<SeenGet> = {}): SeenGet => ({
  name: CANARY_NAME,
  isNew: false,
  token: FIRST,
  mayHaveBeenSent: false,
  ...overrides,
});
const made = get({ isNew: true });
const keptName = get();
const newName = get({ name: OTHER_CANARY_NAME });
const post = (token: Secret, name: string | null = CANARY_NAME): SeenPost => ({
  kind: "carried out",
  token,
  name,
});
const refused: SeenPost = { kind: "refused", text: "HTTP 404: unknown token" };

const found = (seen: Partial<Observations>) => findingsOf({ deletes: [], ...seen });

test("nothing is found out without answers", () => {
  expect(found({})).toEqual({
    repeated_get: null,
    update: null,
    rotation: null,
    old_token: null,
    get_after_rotation: null,
    deletes: [],
    refusals: {},
  });
  expect(updatesBy({ update: null })).toBeUndefined();
});

test.each<[SeenGet, string]>([
  [get(), "the same"],
  [get({ name: ` ${CANARY_NAME} ` }), "the same"],
  [get({ token: SECOND }), "another token"],
  [get({ name: OTHER_CANARY_NAME }), "another name"],
])("the same GET again returns the same or something else: %o", (repeated, expected) => {
  expect(found({ created: made, repeated }).repeated_get).toBe(expected);
});

describe("a GET with another name", () => {
  test.each<[string, Partial<Observations>, string | null]>([
    ["the old name comes back", { renamed: keptName }, "keeps"],
    [
      "the old name comes back, and the POST knows the new one",
      { renamed: keptName, rotated: post(SECOND, OTHER_CANARY_NAME) },
      "keeps",
    ],
    ["the new name comes back, and nothing else is known", { renamed: newName }, null],
    [
      "the new name comes back, and the POST has it, too",
      { renamed: newName, rotated: post(SECOND, OTHER_CANARY_NAME) },
      "updates",
    ],
    [
      "the new name comes back, and the POST has the old one",
      { renamed: newName, rotated: post(SECOND) },
      "only the answer",
    ],
    ["the new name comes back, and the POST is refused", { renamed: newName, rotated: refused }, null],
    [
      "the new name comes back, and the answer to the POST is lost, but not the one with the old token",
      {
        renamed: newName,
        rotated: post(SECOND, null),
        reused: post(THIRD),
      },
      "only the answer",
    ],
  ])("%s", (_, seen, expected) => {
    const findings = found(seen);
    expect(findings.update).toBe(expected);
    expect(updatesBy(findings)).toBe(expected === null ? undefined : expected === "updates");
  });

  test.each<[string, Partial<SeenGet>, string]>([
    ["a new group with another token comes back", { isNew: true, token: SECOND }, "another group"],
    ["likewise, and an answer was lost", { mayHaveBeenSent: true, token: SECOND }, "another group"],
    ["the service calls every group new, and the token is the same", { isNew: true }, "updates"],
    ["the same group has another token", { token: SECOND }, "updates"],
  ])("%s", (_, answer, expected) => {
    const seen = {
      created: made,
      repeated: get(),
      renamed: { ...newName, ...answer },
      rotated: post(THIRD, OTHER_CANARY_NAME),
    };
    const findings = found(seen);
    expect(findings.update).toBe(expected);
    expect(updatesBy(findings)).toBe(expected === "updates" || undefined);
  });

  test("says nothing of another group if every GET returns another token", () => {
    const other = { isNew: true, token: THIRD };
    const renamed = { ...newName, ...other };
    const repeated = get({ isNew: true, token: SECOND });
    const findings = found({ created: made, repeated, renamed, rotated: post(FIRST, OTHER_CANARY_NAME) });
    expect(findings.update).toBe("updates");
  });
});

test.each<[Partial<Observations>, Partial<ReturnType<typeof found>>]>([
  [{ rotated: post(SECOND) }, { rotation: "a new token", old_token: null }],
  [{ rotated: post(FIRST) }, { rotation: "the same token", get_after_rotation: null }],
  [{ rotated: refused }, { rotation: "refused", refusals: { rotation: "HTTP 404: unknown token" } }],
  [{ rotated: post(SECOND, null) }, { rotation: "a new token" }],
  [
    { rotated: post(SECOND), reused: refused, afterwards: get({ token: SECOND }) },
    {
      old_token: "refused",
      get_after_rotation: "the new token",
      refusals: { old_token: "HTTP 404: unknown token" },
    },
  ],
  [
    { rotated: post(SECOND), reused: refused, afterwards: get({ token: FIRST }) },
    { old_token: "refused", get_after_rotation: "another token" },
  ],
  [
    { rotated: post(SECOND), reused: post(THIRD), afterwards: get({ token: THIRD }) },
    { old_token: "accepted", get_after_rotation: "the new token" },
  ],
])("rotations: %o", (seen, expected) => {
  expect(found({ created: made, renamed: keptName, ...seen })).toMatchObject(expected);
});

test("a canary's id can be recognized, and has 128 random bits", () => {
  expect(canaryId(() => 0)).toBe(`groupsync-canary-${"0".repeat(32)}`);
  expect(canaryId(() => 0.999)).toBe(`groupsync-canary-${"f".repeat(32)}`);
  const ids = new Set(Array.from({ length: 100 }, () => canaryId(Math.random)));
  expect(ids.size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^groupsync-canary-[0-9a-f]{32}$/);
});
