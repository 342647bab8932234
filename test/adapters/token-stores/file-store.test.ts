import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { SecretPath } from "../../../src/core/tokens/secrets.ts";
import { rejection } from "../../contracts/collect.ts";
import { type TokenPlace, tokenStoreContract, writeTokens } from "../../contracts/token-store.ts";
import { aFileStore, aFolder, claim } from "./a-folder.ts";
import { aSecretPlace, PATH } from "./a-secret-place.ts";

/** All files below, by their paths from there, but for groupsync's own. */
const filesIn = (directory: string): string[] =>
  existsSync(directory)
    ? readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
        .filter((path) => !path.startsWith(".groupsync/"))
        .sort()
    : [];

/** A folder stands where the file should be, and the file is in it. */
async function stashAway(file: string): Promise<void> {
  const aside = `${file}-aside`;
  if (existsSync(file)) await rename(file, aside);
  mkdirSync(file, { recursive: true });
  if (existsSync(aside)) await rename(aside, join(file, "kept"));
}

async function aFilePlace(
  path: SecretPath = PATH,
  directory = join(aFolder(), "new/tokens"),
): Promise<TokenPlace> {
  const stashSome = async (): Promise<void> => {
    for (const id of ["b", "d"]) await stashAway(join(directory, path.join(id)));
  };
  const world = {
    secrets: aFileStore(directory),
    contents: async () =>
      Object.fromEntries(
        filesIn(directory).map((file) => [
          file.replace(/\/kept$/, ""),
          readFileSync(join(directory, file), "utf8"),
        ]),
      ),
    refuseSome: stashSome,
    keepSome: stashSome,
    breakDown: async () => {
      await rm(directory, { recursive: true });
      await writeFile(directory, "");
    },
  };
  return aSecretPlace(world, path);
}

tokenStoreContract("files", () => aFilePlace(), { many: 200 });
tokenStoreContract("files in folders", () => aFilePlace(["dashboards/of-tenants/", ".token"]), { many: 100 });

test("a folder that strangers may write to costs its tenant alone", async () => {
  const directory = join(aFolder(), "tokens");
  const place = await aFilePlace(["", "/token"], directory);
  const { store, stored } = place;
  await store.prepare();
  const mark = { name: "default", baseUrl: "https://service", teamId: 1, ledgerId: "L1" };
  await store.destinations[0]?.claim(mark, null);
  mkdirSync(join(directory, "b"));
  chmodSync(join(directory, "b"), 0o777);
  const refused = await writeTokens(place, { a: "token-a", b: "token-b" });
  expect([...refused]).toEqual([["b", expect.objectContaining({ code: "TOKEN_NOT_STORED" })]]);
  expect(await stored()).toEqual({ a: "token-a" });
  expect([...(await store.read(["a", "b"])).keys()]).toEqual(["a"]);
});

async function aStore() {
  const directory = join(aFolder(), "tokens");
  const store = aFileStore(directory);
  await store.prepare();
  const put = (name: string, content: string) => store.put(name, new Secret(content), () => false);
  const get = async (name: string) => (await store.get(name))?.content.reveal();
  return { directory, store, put, get, mark: join(directory, ".groupsync") };
}

/** What a file is called until it is whole. */
const HALF = "0123456789abcdef";

const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8);

describe("a file with a token", () => {
  test("is its owner's alone, and so are the folders around it, whatever the umask", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const { directory, put, mark } = await aStore();
    await put("dashboards/a", "token-a");
    expect(modeOf(join(directory, "dashboards/a"))).toBe("600");
    for (const folder of [directory, mark, join(directory, "dashboards")]) expect(modeOf(folder)).toBe("700");
  });

  test("is its owner's alone again once it is written again", async () => {
    const { directory, put } = await aStore();
    await put("a", "token-1");
    chmodSync(join(directory, "a"), 0o644);
    await put("a", "token-2");
    expect(modeOf(join(directory, "a"))).toBe("600");
  });
});

describe("what isn't a file is refused, and left as it is:", () => {
  test.each<[string, (path: string) => Promise<void> | void]>([
    ["a link to a file elsewhere", (path) => symlink("../outside", path)],
    ["a link to nowhere", (path) => symlink("../nowhere", path)],
    ["a folder", (path) => void mkdirSync(path)],
    ["a pipe", (path) => void execFileSync("mkfifo", [path])],
  ])("%s", async (_, makeIt) => {
    const { directory, store, put } = await aStore();
    const outside = join(directory, "../outside");
    await writeFile(outside, "theirs");
    await makeIt(join(directory, "a"));
    const before = lstatSync(join(directory, "a")).ino;
    for (const call of [() => store.get("a"), () => put("a", "token-a"), () => store.remove("a")])
      expect(await rejection(call())).toMatchObject({ problem: "refused", hint: expect.any(String) });
    expect(lstatSync(join(directory, "a")).ino).toBe(before);
    expect(readFileSync(outside, "utf8")).toBe("theirs");
    expect(existsSync(join(directory, "../nowhere"))).toBe(false);
  });
});

test("the directory itself may be a link", async () => {
  const { directory, get } = await aStore();
  const link = join(directory, "../link");
  await symlink(directory, link);
  const linked = aFileStore(link);
  await linked.prepare();
  await linked.put("dashboards/a", new Secret("token-a"), () => false);
  expect(await get("dashboards/a")).toBe("token-a");
});

describe("a directory", () => {
  test("with somebody else's files is refused, and left as it is", async () => {
    const directory = aFolder();
    await writeFile(join(directory, "theirs"), "theirs");
    const store = aFileStore(directory);
    expect(await rejection(store.prepare())).toMatchObject({
      problem: "unavailable",
      message: expect.stringContaining("groupsync hasn't written"),
    });
    expect(readdirSync(directory)).toEqual(["theirs"]);
  });

  test("that lies in another config's says how to take away the mark of that one", async () => {
    const outer = join(aFolder(), "it's theirs");
    const theirs = aFileStore(outer, { scope: "other" });
    await theirs.prepare();
    await claim(theirs, "other");
    const ours = aFileStore(join(outer, "ours"));
    expect(await ours.get(ours.owner)).toMatchObject({ isManaged: false, scope: "other" });
    execFileSync("sh", ["-c", await ours.release()]);
    expect(await ours.get(ours.owner)).toBeUndefined();
  });

  test.each<[string, (folder: string) => Promise<string>, RegExp]>([
    ["in /proc", async () => "/proc/groupsync/tokens", /^ENOENT: .* '\/proc\/groupsync'$/],
    ["in a device", async () => "/dev/null/tokens", /^E[A-Z]+: .* '\/dev\/null/],
    [
      "that is a file",
      async (folder) => {
        await writeFile(join(folder, "a"), "");
        return join(folder, "a");
      },
      /^ENOTDIR: .*\/a'$/,
    ],
    [
      "behind a link that leads nowhere",
      async (folder) => {
        await symlink(join(folder, "gone"), join(folder, "a"));
        return join(folder, "a/tokens");
      },
      /^E[A-Z]+: .*\/a'$/,
    ],
    [
      "behind links that lead in a circle",
      async (folder) => {
        await symlink(join(folder, "b"), join(folder, "a"));
        await symlink(join(folder, "a"), join(folder, "b"));
        return join(folder, "a");
      },
      /\/a lead in a circle$/,
    ],
    ["with too long a name", async (folder) => join(folder, "x".repeat(300)), /^ENAMETOOLONG/],
  ])("%s can't be made", async (_, place, message) => {
    const failure = await rejection(aFileStore(await place(aFolder())).prepare());
    expect(failure).toMatchObject({
      problem: "unavailable",
      message: expect.stringMatching(message),
      hint: expect.stringContaining("tokens.directory"),
    });
  });

  test.skipIf(process.getuid?.() === 0)("where this user may make none can't be made", async () => {
    const folder = aFolder();
    chmodSync(folder, 0o500);
    const failure = await rejection(aFileStore(join(folder, "tokens")).prepare());
    expect(failure).toMatchObject({
      problem: "unavailable",
      message: expect.stringContaining("EACCES"),
      hint: expect.stringContaining("this user"),
    });
  });

  test("is not made by a look at it", async () => {
    const directory = join(aFolder(), "tokens");
    const store = aFileStore(directory);
    expect(await store.get("a")).toBeUndefined();
    expect(existsSync(directory)).toBe(false);
  });

  // As a file system of macOS or Windows would show it.
  test("whose file system takes A and a for one is refused", async () => {
    const { directory, store } = await aStore();
    mkdirSync(join(directory, ".GROUPSYNC"));
    expect(await rejection(store.prepare())).toMatchObject({
      problem: "unavailable",
      message: expect.stringContaining("each other's"),
    });
  });

  test("is cleaned of what was left half written", async () => {
    const { directory, store, put, mark } = await aStore();
    await put("a", "token-a");
    await writeFile(join(mark, HALF), "tok");
    await store.prepare();
    expect(readdirSync(mark)).toEqual([]);
    expect(filesIn(directory)).toEqual(["a"]);
  });

  test("loses no token if another process prepares it meanwhile", async () => {
    const place = await aFilePlace();
    await place.store.prepare();
    let isWriting = true;
    const tokens = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`id-${n}`, `token-${n}`]));
    // Fewer cleanings than a write has attempts, or on a slow machine one write could lose them all.
    const cleaning = (async () => {
      for (let times = 0; isWriting && times < 4; times++) await place.store.prepare();
    })();
    const refused = await writeTokens(place, tokens).finally(() => {
      isWriting = false;
    });
    await cleaning;
    expect(refused).toEqual(new Map());
    expect(await place.stored()).toEqual(tokens);
  });
});

test("a token that can't be put in place leaves nothing behind", async () => {
  const { directory, put, mark } = await aStore();
  await put("a", "token-a");
  await writeFile(join(directory, "folder"), "");
  await rejection(put("folder/a", "token-a"));
  await rejection(put("x".repeat(256), "token-a"));
  expect(readdirSync(mark)).toEqual([]);
  expect(await readFile(join(directory, "a"), "utf8")).toBe("token-a");
});
