import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { aFileStore, aFolder, aKeyFile, aStore, claim, KEY, put } from "./a-folder.ts";

const unsafe = (what: RegExp, hint: string) => ({
  code: "CONFIG_DIRECTORY_UNSAFE",
  message: expect.stringMatching(what),
  hint: expect.stringContaining(hint),
});

describe("a link in place of", () => {
  test(".groupsync changes nothing at its target", async () => {
    const directory = aFolder();
    const target = aFolder();
    writeFileSync(join(target, "precious"), "theirs");
    writeFileSync(join(target, "0123456789abcdef"), "theirs");
    symlinkSync(target, join(directory, ".groupsync"));
    const error = await rejection(aFileStore(directory).prepare());
    expect(readdirSync(target)).toEqual(["0123456789abcdef", "precious"]);
    expect(error).toMatchObject(unsafe(/\.groupsync is a symbolic link/, `rm '${directory}/.groupsync'`));
  });

  test(".groupsync/owner reveals nothing of its target", async () => {
    const directory = aFolder();
    const store = aFileStore(directory);
    mkdirSync(join(directory, ".groupsync"));
    symlinkSync(aKeyFile(), join(directory, ".groupsync/owner"));
    for (const call of [() => store.get(store.owner), () => store.release()]) {
      const error = await rejection(call());
      expect(everythingIn(error)).not.toContain(KEY);
      expect(error).toMatchObject(unsafe(/no file of groupsync's$/, "remove it"));
    }
    expect(everythingIn(await store.prepare().catch((error: unknown) => error))).not.toContain(KEY);
  });

  test("a mark in a directory above isn't read", async () => {
    const around = aFolder(0o1777);
    mkdirSync(join(around, ".groupsync"));
    symlinkSync(aKeyFile(), join(around, ".groupsync/owner"));
    const store = aFileStore(join(around, "tokens"));
    const found = await store.get(store.owner);
    expect(found?.isManaged).toBe(false);
    expect(everythingIn(found) + found?.content.reveal()).not.toContain(KEY);
  });

  test("a folder of tokens isn't followed by a look, a write or a removal", async () => {
    const { directory, store } = await aStore();
    const outside = aFolder();
    writeFileSync(join(outside, "a"), "theirs");
    symlinkSync(outside, join(directory, "dashboards"));
    for (const call of [
      () => store.get("dashboards/a"),
      () => put(store, "dashboards/a"),
      () => store.remove("dashboards/a"),
    ])
      expect(await rejection(call())).toMatchObject({
        problem: "unavailable",
        message: expect.stringContaining("symbolic link"),
      });
    expect(readFileSync(join(outside, "a"), "utf8")).toBe("theirs");
  });
});

describe("a file in .groupsync that isn't groupsync's", () => {
  test("stays there", async () => {
    const { directory, store } = await aStore();
    const mark = join(directory, ".groupsync");
    writeFileSync(join(mark, "0123456789abcdef"), "half a token");
    for (const name of ["0123456789abcde", "0123456789ABCDEF", "notes", ".nfs0001"])
      writeFileSync(join(mark, name), "theirs");
    mkdirSync(join(mark, "fedcba9876543210"));
    await store.prepare();
    expect(readdirSync(mark).sort()).toEqual(
      [".nfs0001", "0123456789ABCDEF", "0123456789abcde", "fedcba9876543210", "notes"].sort(),
    );
  });

  test("is not printed, and taken for somebody else's mark", async () => {
    const { directory, store } = await aStore();
    writeFileSync(join(directory, ".groupsync/owner"), `the key: ${KEY}`);
    const found = await store.get(store.owner);
    expect(found?.isManaged).toBe(false);
    expect(everythingIn(found) + found?.content.reveal()).not.toContain(KEY);
  });

  test("is not read if it is too large for a mark", async () => {
    const { directory, store } = await aStore();
    writeFileSync(join(directory, ".groupsync/owner"), "x".repeat(1024 * 1024 + 1));
    expect(await rejection(store.get(store.owner))).toMatchObject(unsafe(/larger than/, "remove it"));
  });
});

test("a directory is one config's until its mark is removed, and then free, with the files in it", async () => {
  const { directory, store } = await aStore();
  await claim(store);
  const next = aFileStore(directory, { scope: "next" });
  expect(await next.get(next.owner)).toMatchObject({ isManaged: false, scope: "default" });
  expect(await rejection(claim(next, "next"))).toMatchObject({ problem: "refused" });
  await store.remove(store.owner);
  await next.prepare();
  await claim(next, "next");
  expect(await next.get(next.owner)).toMatchObject({ isManaged: true, scope: "next" });
  expect((await next.get("folder/a"))?.content.reveal()).toBe("token");
});

describe("a directory", () => {
  test.each([
    [0o777, "go-w"],
    [0o1777, "go-w"],
    [0o757, "o-w"],
    [0o770, "g-w"],
  ])("with the mode %o is refused, and left as it is", async (mode, change) => {
    const directory = aFolder(mode);
    const store = aFileStore(directory);
    for (const call of [() => store.get(store.owner), () => store.prepare(), () => store.release()])
      expect(await rejection(call())).toMatchObject(unsafe(/can write to/, `chmod ${change} '${directory}'`));
    expect(readdirSync(directory)).toEqual([]);
  });

  test("is not made in a directory in which somebody else could replace it", async () => {
    const around = aFolder(0o777);
    const directory = join(around, "a/tokens");
    expect(await rejection(aFileStore(directory).prepare())).toMatchObject(
      unsafe(/can write to/, `chmod go-w '${around}'`),
    );
    expect(readdirSync(around)).toEqual([]);
  });

  test("is refused behind a link that leads through such a directory, whatever is above the link", async () => {
    const open = aFolder(0o777);
    mkdirSync(join(open, "tokens"), { mode: 0o700 });
    const link = join(aFolder(), "link");
    symlinkSync(join(open, "tokens"), link);
    expect(await rejection(aFileStore(link).prepare())).toMatchObject(
      unsafe(/can write to/, `chmod go-w '${open}'`),
    );
  });

  test("is taken in a sticky directory such as /tmp, also behind a relative link", async () => {
    const around = aFolder(0o1777);
    mkdirSync(join(around, "real"), { mode: 0o755 });
    symlinkSync("./x/../real", join(around, "link"));
    mkdirSync(join(around, "x"));
    const store = aFileStore(join(around, "link/tokens"));
    await store.prepare();
    await put(store, "a");
    expect(readdirSync(join(around, "real/tokens")).sort()).toEqual([".groupsync", "a"]);
  });

  test("of a volume is taken as Kubernetes leaves it with an fsGroup, if the config says so", async () => {
    const { directory, store } = await aStore(0o2770, true);
    await claim(store);
    // What a kubelet does to all that is in a volume, each time that it mounts the volume.
    for (const name of ["folder", ".groupsync"]) chmodSync(join(directory, name), 0o2770);
    for (const name of ["folder/a", ".groupsync/owner"]) chmodSync(join(directory, name), 0o660);
    await store.prepare();
    expect(await store.get(store.owner)).toMatchObject({ isManaged: true });
    await put(store, "folder/a");
    await store.remove("folder/a");
    chmodSync(directory, 0o2777);
    expect(await rejection(store.prepare())).toMatchObject(
      unsafe(/everybody can write to/, `chmod o-w '${directory}'`),
    );
  });
});

describe.skipIf(process.geteuid?.() !== 0)("with another user, as root", () => {
  const ANOTHER = 12_345;

  test.each([
    ["its directory", ""],
    ["the folder of its mark", ".groupsync"],
    ["its mark", ".groupsync/owner"],
  ])("%s is refused once it is that user's", async (_, path) => {
    const { directory, store } = await aStore();
    await claim(store);
    chownSync(join(directory, path), ANOTHER, ANOTHER);
    expect(everythingIn(await rejection(store.get(store.owner)))).toContain("belongs to user 12345");
  });

  test("a token file of that user is neither read nor removed", async () => {
    const { directory, store } = await aStore();
    chownSync(join(directory, "folder/a"), ANOTHER, ANOTHER);
    for (const call of [() => store.get("folder/a"), () => store.remove("folder/a")])
      expect(await rejection(call())).toMatchObject({ problem: "refused" });
  });

  test("that user's mark in a sticky directory above doesn't block the directory", async () => {
    const around = aFolder(0o1777);
    const planted = join(around, ".groupsync");
    mkdirSync(planted);
    writeFileSync(join(planted, "owner"), "theirs");
    for (const path of [planted, join(planted, "owner")]) chownSync(path, ANOTHER, ANOTHER);
    const store = aFileStore(join(around, "tokens"));
    expect(await store.get(store.owner)).toBeUndefined();
    chmodSync(around, 0o755);
    expect(await store.get(store.owner)).toMatchObject({ isManaged: false });
  });
});
