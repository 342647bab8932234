import { describe, expect, test } from "vitest";
import { dangerOnPath, dangerWithin, type Entry } from "../../../src/core/tokens/directory-trust.ts";

const ME = 1000;
const STRANGER = 1001;
const END = "/data/volume/tokens";

const aDirectory = (path: string, overrides: Partial<Entry> = {}): Entry => ({
  path,
  kind: "directory",
  uid: 0,
  gid: 50,
  mode: 0o755,
  ...overrides,
});

/** A good way, with these changes to the entries that have these paths. */
const aWay = (changes: Readonly<Record<string, Partial<Entry>>> = {}) => ({
  entries: ["/", "/data", "/data/volume", END].map((path) => aDirectory(path, changes[path])),
  end: END,
});

const dangerOf = (changes: Readonly<Record<string, Partial<Entry>>>, isShared = false) =>
  dangerOnPath(aWay(changes), { uid: ME, isShared });

describe("whether a directory on the way to the tokens is safe", () => {
  const ABOVE = "/data";
  const AROUND = "/data/volume";

  // biome-ignore format: a table is read by its columns
  const TABLE: readonly (readonly [what: string, entry: Partial<Entry>, safeAt: readonly string[], safeAtShared: readonly string[]])[] = [
    ["root's",                        {},                                 [ABOVE, AROUND, END], [ABOVE, AROUND, END]],
    ["this user's",                   { uid: ME, mode: 0o700 },           [ABOVE, AROUND, END], [ABOVE, AROUND, END]],
    ["a stranger's",                  { uid: STRANGER, mode: 0o700 },     [],                   []],
    ["a stranger's, and sticky",      { uid: STRANGER, mode: 0o1777 },    [],                   []],
    ["writable by a group",           { mode: 0o775 },                    [],                   [AROUND, END]],
    ["writable by all but the group", { mode: 0o757 },                    [],                   []],
    ["writable by everybody",         { mode: 0o777 },                    [],                   []],
    ["sticky, for a group",           { mode: 0o1775 },                   [ABOVE, AROUND],      [ABOVE, AROUND, END]],
    ["sticky, for everybody",         { mode: 0o1777 },                   [ABOVE, AROUND],      [ABOVE, AROUND]],
    ["setgid, as fsGroup makes it",   { uid: ME, mode: 0o2770 },          [],                   [AROUND, END]],
  ];

  test.each(TABLE)("%s", (_, entry, safeAt, safeAtShared) => {
    const safe = (isShared: boolean) =>
      [ABOVE, AROUND, END].filter((path) => dangerOf({ [path]: entry }, isShared) === undefined);
    expect({ not: safe(false), shared: safe(true) }).toEqual({ not: safeAt, shared: safeAtShared });
  });

  test("is asked also of a way whose end is missing", () => {
    const { entries, end } = aWay({ "/data": { mode: 0o777 } });
    expect(dangerOnPath({ entries: entries.slice(0, 2), end }, { uid: ME, isShared: true })).toBeDefined();
    expect(dangerOnPath({ entries: entries.slice(0, 1), end }, { uid: ME, isShared: false })).toBeUndefined();
  });
});

describe("a link on the way", () => {
  const wayWith = (link: Partial<Entry>, mode: number) => {
    const { entries, end } = aWay({ "/data": { mode } });
    return { entries: [...entries, aDirectory("/data/link", { kind: "link", mode: 0o777, ...link })], end };
  };

  test.each([
    ["a stranger's in a sticky directory", { uid: STRANGER }, 0o1777, false],
    ["root's in a sticky directory", {}, 0o1777, true],
    ["this user's in a sticky directory", { uid: ME }, 0o1777, true],
    ["a stranger's in a directory that is root's alone", { uid: STRANGER }, 0o755, true],
  ])("%s", (_, link, mode, isSafe) => {
    expect(dangerOnPath(wayWith(link, mode), { uid: ME, isShared: false }) === undefined).toBe(isSafe);
  });
});

describe("the message says which path it is, whose, and what repairs it:", () => {
  test.each([
    [
      { [END]: { mode: 0o1777 } },
      "everybody can write to /data/volume/tokens (mode 1777)",
      "chmod go-w '/data/volume/tokens'",
    ],
    [
      { [END]: { mode: 0o770 } },
      "group 50 can write to /data/volume/tokens (mode 0770)",
      "chmod g-w '/data/volume/tokens'; or set tokens.shared_directory: true if every member of that group may read all tokens",
    ],
    [
      { "/data": { mode: 0o775 } },
      "group 50 can write to /data (mode 0775)",
      "chmod g-w '/data'; or name another place in tokens.directory",
    ],
    [
      { "/data": { uid: STRANGER } },
      "/data belongs to user 1001, and groupsync runs as user 1000",
      "name another place in tokens.directory; or, if that user doesn't need it: chown 1000 '/data'",
    ],
    [
      { [END]: { uid: STRANGER } },
      "/data/volume/tokens belongs to user 1001, and groupsync runs as user 1000",
      "name another place in tokens.directory; or, if that user doesn't need it: chown -R 1000 '/data/volume/tokens'",
    ],
  ])("%j", (changes, what, remedy) => {
    expect(dangerOf(changes)).toEqual({ what, remedy });
  });

  test("a link that groupsync hasn't made, with a name that a shell would take apart", () => {
    const link = aDirectory("/it's; here", { kind: "link" });
    expect(dangerWithin(link, { uid: ME, isShared: true })).toEqual({
      what: "/it's; here is a symbolic link that groupsync didn't make",
      remedy: "find out who put it there, then remove it: rm '/it'\\''s; here'",
    });
  });
});
