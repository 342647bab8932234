import { describe, expect, test } from "vitest";
import {
  type AnswerFacts,
  canaryId,
  findingsOf,
  isMadeAnew,
  type Observations,
  type SeenGet,
  type SeenPost,
  updatesBy,
} from "../../../src/core/probe/findings.ts";
import { Secret } from "../../../src/core/secret/secret.ts";

const FIRST = new Secret("first");
const SECOND = new Secret("second");
const THIRD = new Secret("third");

const get = (overrides: Partial<SeenGet> = {}): SeenGet => ({
  sentName: "A",
  name: "A",
  isNew: false,
  token: FIRST,
  mayHaveBeenSent: false,
  ...overrides,
});
const made = get({ isNew: true });
const renamed = get({ sentName: "B", name: "A" });
const post = (token: Secret, name = "A"): SeenPost => ({ kind: "answered", token, name });
const refused: SeenPost = { kind: "refused", text: "HTTP 404: unknown token" };

const found = (seen: Partial<Observations>) => findingsOf({ deletes: [], ...seen }, []);

const facts = (overrides: Partial<AnswerFacts> = {}): AnswerFacts => ({
  method: "GET",
  status: 200,
  tookMs: 10,
  limitHeaders: [],
  ...overrides,
});

test("nothing is found out without answers", () => {
  expect(found({})).toEqual({
    newFlag: null,
    repeatedGet: null,
    update: null,
    rotation: null,
    oldToken: null,
    getAfterRotation: null,
    deletes: [],
    refusals: {},
    limitHeaders: [],
    throttled: 0,
    latency: {},
  });
  expect(updatesBy({ update: null })).toBeUndefined();
});

test.each<[string, Partial<Observations>, string | null]>([
  ["true, then false", { created: made, repeated: get() }, "true for a new group alone"],
  ["true twice", { created: made, repeated: made }, "true for an existing group too"],
  ["false twice", { created: get(), repeated: get() }, "never true"],
  [
    "false after a lost answer",
    { created: get({ mayHaveBeenSent: true }), repeated: get({ mayHaveBeenSent: false }) },
    null,
  ],
])("new_user_group that is %s", (_, seen, expected) => {
  expect(found(seen).newFlag).toBe(expected);
});

test.each<[SeenGet, string]>([
  [get(), "the same"],
  [get({ name: " A " }), "the same"],
  [get({ token: SECOND }), "another token"],
  [get({ name: "B" }), "another name"],
])("the same GET again returns the same or something else: %o", (repeated, expected) => {
  expect(found({ created: made, repeated }).repeatedGet).toBe(expected);
});

describe("a GET with another name", () => {
  test.each<[string, Partial<Observations>, string | null]>([
    ["the old name comes back", { renamed }, "keeps"],
    [
      "the old name comes back, and the POST knows the new one",
      { renamed, rotated: post(SECOND, "B") },
      "keeps",
    ],
    [
      "the new name comes back, and nothing else is known",
      { renamed: get({ sentName: "B", name: "B" }) },
      null,
    ],
    [
      "the new name comes back, and the POST has it, too",
      { renamed: get({ sentName: "B", name: "B" }), rotated: post(SECOND, "B") },
      "updates",
    ],
    [
      "the new name comes back, and the POST has the old one",
      { renamed: get({ sentName: "B", name: "B" }), rotated: post(SECOND, "A") },
      "only the answer",
    ],
    [
      "the new name comes back, and the POST is refused",
      { renamed: get({ sentName: "B", name: "B" }), rotated: refused },
      null,
    ],
    [
      "the new name comes back, and the answer to the POST is lost, but not the one with the old token",
      {
        renamed: get({ sentName: "B", name: "B" }),
        rotated: { kind: "carried out", token: SECOND },
        reused: post(THIRD, "A"),
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
      renamed: get({ sentName: "B", name: "B", ...answer }),
      rotated: post(THIRD, "B"),
    };
    const findings = found(seen);
    expect(findings.update).toBe(expected);
    expect(updatesBy(findings)).toBe(expected === "updates" || undefined);
  });

  test("says nothing of another group if every GET returns another token", () => {
    const other = { isNew: true, token: THIRD };
    const renamed = get({ sentName: "B", name: "B", ...other });
    const repeated = get({ isNew: true, token: SECOND });
    const findings = found({ created: made, repeated, renamed, rotated: post(FIRST, "B") });
    expect(findings.update).toBe("updates");
  });
});

test.each<[Partial<Observations>, Partial<ReturnType<typeof found>>]>([
  [{ rotated: post(SECOND) }, { rotation: "a new token", oldToken: null }],
  [{ rotated: post(FIRST) }, { rotation: "the same token", getAfterRotation: null }],
  [{ rotated: refused }, { rotation: "refused", refusals: { rotation: "HTTP 404: unknown token" } }],
  [{ rotated: { kind: "carried out", token: SECOND } }, { rotation: "a new token" }],
  [
    { rotated: post(SECOND), reused: refused, afterwards: get({ token: SECOND }) },
    {
      oldToken: "refused",
      getAfterRotation: "the new token",
      refusals: { oldToken: "HTTP 404: unknown token" },
    },
  ],
  [
    { rotated: post(SECOND), reused: refused, afterwards: get({ token: FIRST }) },
    { oldToken: "refused", getAfterRotation: "another token" },
  ],
  [
    { rotated: post(SECOND), reused: post(THIRD), afterwards: get({ token: THIRD }) },
    { oldToken: "accepted", getAfterRotation: "the new token" },
  ],
])("rotations: %o", (seen, expected) => {
  expect(found({ created: made, renamed, ...seen })).toMatchObject(expected);
});

test("limits and latency are summed up over all answers", () => {
  const limit = (value: string) => [{ name: "x-ratelimit-remaining", value }];
  const findings = findingsOf({ deletes: [] }, [
    facts({ tookMs: 30, limitHeaders: limit("9") }),
    facts({ status: 429, tookMs: 1, limitHeaders: [{ name: "retry-after", value: "2" }] }),
    facts({ tookMs: 5, limitHeaders: limit("8") }),
    facts({ method: "DELETE", tookMs: 7 }),
  ]);
  expect(findings).toMatchObject({
    limitHeaders: [
      { name: "x-ratelimit-remaining", value: "8" },
      { name: "retry-after", value: "2" },
    ],
    throttled: 1,
    latency: {
      GET: { answers: 3, least: 1, median: 5, most: 30 },
      DELETE: { answers: 1, least: 7, median: 7, most: 7 },
    },
  });
});

test("a group is made anew if its token is another one; if every GET has another one, new_user_group tells", () => {
  expect(isMadeAnew({ isNew: true, token: FIRST }, FIRST, false)).toBe(false);
  expect(isMadeAnew({ isNew: false, token: SECOND }, FIRST, false)).toBe(true);
  expect(isMadeAnew({ isNew: false, token: SECOND }, FIRST, true)).toBe(false);
  expect(isMadeAnew({ isNew: true, token: SECOND }, FIRST, true)).toBe(true);
});

test("a canary's id can be recognized, and has 128 random bits", () => {
  expect(canaryId(() => 0)).toBe(`groupsync-canary-${"0".repeat(32)}`);
  expect(canaryId(() => 0.999)).toBe(`groupsync-canary-${"f".repeat(32)}`);
  const ids = new Set(Array.from({ length: 100 }, () => canaryId(Math.random)));
  expect(ids.size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^groupsync-canary-[0-9a-f]{32}$/);
});
