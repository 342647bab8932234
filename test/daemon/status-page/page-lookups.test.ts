import { expect, test } from "vitest";
import { interrupted, SyncError } from "../../../src/core/failure/sync-error.ts";
import { type Lookup, pageLookups } from "../../../src/daemon/status-page/page-lookups.ts";
import type { Explanation } from "../../../src/engine/explain/explain-tenant.ts";
import type { FoundTenant } from "../../../src/engine/explain/find-tenants.ts";
import { anExplanation } from "../../builders/explained.ts";
import { aClock } from "../../fakes/set-clock.ts";

const nobodyLeaves = new AbortController().signal;

/** Explains only when the test says so, or ends early if it is told to. */
function aVisit() {
  let isOver = (): void => {};
  const sleep = (_: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      isOver = resolve;
      signal?.addEventListener("abort", () => resolve());
    });
  const clock = { ...aClock(), sleep };
  const daemon = new AbortController();
  const asked: string[] = [];
  const logged: string[] = [];
  const searched: string[] = [];
  const found: FoundTenant[] = [];
  const find = async (text: string): Promise<readonly FoundTenant[]> => {
    searched.push(text);
    return found;
  };
  let answer: (explanation: Promise<Explanation>) => void = () => {};
  const explain = (id: string, stop: AbortSignal): Promise<Explanation> => {
    asked.push(id);
    return new Promise((resolve, reject) => {
      answer = resolve;
      stop.addEventListener("abort", () => reject(interrupted()));
    });
  };
  const lookUp = pageLookups(
    { explain, find, clock, log: ({ message }) => logged.push(message) },
    daemon.signal,
  );
  return {
    ...{ clock, daemon, asked, searched, found, logged },
    takesTooLong: () => isOver(),
    at: (id: string, gone = nobodyLeaves) => lookUp(id, gone),
    answers: (explanation: Explanation | Error) =>
      answer(explanation instanceof Error ? Promise.reject(explanation) : Promise.resolve(explanation)),
  };
}

/** The kind of a lookup, or the code of its error. */
async function kindOf(looking: Promise<Lookup>): Promise<string> {
  const lookup = await looking;
  if (lookup instanceof SyncError) return lookup.code;
  return "user_group_id" in lookup ? "explained" : "found";
}

test("one tenant is looked at at a time", async () => {
  const visit = aVisit();
  const first = visit.at("a");
  expect(await kindOf(visit.at("b"))).toBe("TOO_MANY_LOOKUPS");
  visit.answers(anExplanation());
  expect(await first).toEqual(anExplanation());
  const next = visit.at("b");
  visit.answers(anExplanation());
  expect(await kindOf(next)).toBe("explained");
  expect(visit.asked).toEqual(["a", "b"]);
});

test("ten lookups are allowed after a pause, and then one every two seconds", async () => {
  const visit = aVisit();
  const lookup = (): Promise<string> => {
    const kind = kindOf(visit.at("a"));
    visit.answers(anExplanation());
    return kind;
  };
  for (let n = 0; n < 10; n++) expect(await lookup()).toBe("explained");
  expect(await visit.at("a")).toMatchObject({ code: "TOO_MANY_LOOKUPS", hint: "try again in 2.0 s" });
  visit.clock.elapsed += 2_000;
  expect(await lookup()).toBe("explained");
  expect(await lookup()).toBe("TOO_MANY_LOOKUPS");
});

test("a lookup that takes too long is given up, and no other begins before it has ended", async () => {
  const visit = aVisit();
  const first = visit.at("a");
  visit.takesTooLong();
  expect(await kindOf(first)).toBe("LOOKUP_TOO_SLOW");
  expect(visit.asked).toEqual(["a"]);
  const next = visit.at("b");
  visit.answers(anExplanation());
  expect(await kindOf(next)).toBe("explained");
});

test.each(["the visitor leaves", "the daemon stops"])("a lookup ends if %s", async (what) => {
  const visit = aVisit();
  const gone = new AbortController();
  const lookup = visit.at("a", gone.signal);
  (what === "the daemon stops" ? visit.daemon : gone).abort();
  expect(await lookup).toMatchObject({ code: "INTERRUPTED" });
  expect(await kindOf(visit.at("a", gone.signal.aborted ? gone.signal : visit.daemon.signal))).toBe(
    "INTERRUPTED",
  );
  expect(visit.asked).toEqual(["a"]);
});

test("an id that nobody has, and one that is too long to be anybody's, are unknown", async () => {
  const visit = aVisit();
  const lookup = visit.at("a");
  visit.answers(new SyncError("UNKNOWN_ID", 'neither the source nor the ledger has "a"'));
  expect(await lookup).toMatchObject({ code: "UNKNOWN_ID" });
  expect(await visit.at("\u20ac".repeat(171))).toMatchObject({ code: "UNKNOWN_ID" });
  expect(visit.asked).toEqual(["a"]);
});

test("blanks around an id don't count, unless somebody has the id with them", async () => {
  const visit = aVisit();
  const lookup = visit.at(" a\t");
  visit.answers(new SyncError("UNKNOWN_ID", "nobody has it"));
  await new Promise(setImmediate);
  visit.answers(anExplanation());
  expect(await lookup).toMatchObject(anExplanation());
  expect(visit.asked).toEqual([" a\t", "a"]);
  const blank = visit.at(" ");
  visit.answers(new SyncError("UNKNOWN_ID", "nobody has it"));
  expect(await kindOf(blank)).toBe("UNKNOWN_ID");
});

test("a text that is nobody's id leads to those whose ids or names begin with it", async () => {
  const visit = aVisit();
  visit.found.push({ user_group_id: "acme-1", name: "Acme", state: "in sync" });
  const lookup = visit.at(" acme");
  visit.answers(new SyncError("UNKNOWN_ID", "nobody has it"));
  await new Promise(setImmediate);
  visit.answers(new SyncError("UNKNOWN_ID", "nobody has it"));
  expect(await lookup).toEqual(visit.found);
  expect(visit.searched).toEqual([" acme"]);
  const long = "\u20ac".repeat(171);
  expect(await kindOf(visit.at(long))).toBe("found");
  expect(visit.searched).toEqual([" acme", long]);
});

test("while the source is away, tenants are found by name, and one with this very id is not explained", async () => {
  const visit = aVisit();
  visit.found.push({ user_group_id: "acme", name: "Acme", state: "in sync" });
  for (const [text, kind] of [
    ["ac", "found"],
    ["acme", "SOURCE_UNAVAILABLE"],
  ] as const) {
    const lookup = visit.at(text);
    visit.answers(new SyncError("SOURCE_UNAVAILABLE", "cannot reach db.internal"));
    expect(await kindOf(lookup)).toBe(kind);
  }
});

test("what fails is told as it is, but a mistake of groupsync only in its log", async () => {
  const visit = aVisit();
  const failing = visit.at("a");
  const error = new SyncError("SOURCE_UNAVAILABLE", "cannot reach db.internal");
  visit.answers(error);
  expect(await failing).toBe(error);
  const mistaken = visit.at("b\u001b");
  visit.answers(new TypeError("x of undefined"));
  expect(await mistaken).toMatchObject({ code: "INTERNAL", message: expect.not.stringContaining("x of") });
  expect(visit.logged).toEqual(["cannot explain b\\u001b: x of undefined"]);
});
