import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { aFileStore } from "./a-file-store.ts";

function aFolder(mode = 0o700): string {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-files-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  chmodSync(folder, mode);
  return folder;
}

const KEY = "key-of-an-api";

function aKeyFile(): string {
  const key = join(aFolder(), "key");
  writeFileSync(key, KEY, { mode: 0o600 });
  onTestFinished(() => expect(readFileSync(key, "utf8")).toBe(KEY));
  return key;
}

/** A store that has one token, in a directory with this mode. */
async function aStore(mode = 0o700, sharedDirectory = false) {
  const directory = aFolder(mode);
  const store = aFileStore(directory, { sharedDirectory });
  await store.prepare();
  await put(store, "folder/a");
  return { directory, store };
}

const put = (store: ReturnType<typeof aFileStore>, name: string) =>
  store.put(name, new Secret("token"), () => false);

const unsafe = (what: RegExp, hint: string) => ({
  code: "CONFIG_DIRECTORY_UNSAFE",
  message: expect.stringMatching(what),
  hint: expect.stringContaining(hint),
});

describe("a link in place of", () => {
  test(".groupsync costs nothing where it leads", async () => {
    const directory = aFolder();
    const target = aFolder();
    writeFileSync(join(target, "precious"), "theirs");
    writeFileSync(join(target, "0123456789abcdef"), "theirs");
    symlinkSync(target, join(directory, ".groupsync"));
    const error = await rejection(aFileStore(directory).prepare());
    expect(readdirSync(target)).toEqual(["0123456789abcdef", "precious"]);
    expect(error).toMatchObject(unsafe(/\.groupsync is a symbolic link/, `rm '${directory}/.groupsync'`));
  });

  test.each(["name", "owner"])(".groupsync/%s tells nothing of where it leads", async (name) => {
    const directory = aFolder();
    const store = aFileStore(directory);
    mkdirSync(join(directory, ".groupsync"));
    symlinkSync(aKeyFile(), join(directory, ".groupsync", name));
    for (const call of [() => store.get(store.owner), () => store.release()]) {
      const error = await rejection(call());
      expect(everythingIn(error)).not.toContain(KEY);
      expect(error).toMatchObject(unsafe(/no file of groupsync's$/, "remove it"));
    }
    expect(everythingIn(await store.prepare().catch((error: unknown) => error))).not.toContain(KEY);
  });

  test("a mark in a directory around it isn't read", async () => {
    const around = aFolder(0o1777);
    mkdirSync(join(around, ".groupsync"));
    symlinkSync(aKeyFile(), join(around, ".groupsync/name"));
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

describe("what is in .groupsync and is nothing of groupsync's", () => {
  test("stays there", async () => {
    const { directory, store } = await aStore();
    const mark = join(directory, ".groupsync");
    writeFileSync(join(mark, "0123456789abcdef"), "half a token");
    for (const name of ["0123456789abcde", "0123456789ABCDEF", "notes", ".nfs0001"])
      writeFileSync(join(mark, name), "theirs");
    mkdirSync(join(mark, "fedcba9876543210"));
    await store.prepare();
    expect(readdirSync(mark).sort()).toEqual(
      [".nfs0001", "0123456789ABCDEF", "0123456789abcde", "fedcba9876543210", "name", "notes"].sort(),
    );
  });

  test("is not printed as the name of a config", async () => {
    const { directory, store } = await aStore();
    writeFileSync(join(directory, ".groupsync/name"), `the key: ${KEY}`);
    expect(await store.get(store.owner)).toMatchObject({ isManaged: false });
    const error = await rejection(store.prepare());
    expect(everythingIn(error)).not.toContain(KEY);
    expect(error).toMatchObject({ message: expect.stringContaining("doesn't hold the name of a config") });
  });

  test("is not read if it is too large for a mark", async () => {
    const { directory, store } = await aStore();
    writeFileSync(join(directory, ".groupsync/owner"), "x".repeat(1024 * 1024 + 1));
    expect(await rejection(store.get(store.owner))).toMatchObject(unsafe(/larger than/, "remove it"));
  });
});

describe("a file of a token", () => {
  test.each<[string, (path: string) => void, RegExp]>([
    ["that is too large", (path) => writeFileSync(path, "x".repeat(1024 * 1024 + 1)), /larger than/],
    [
      "that everybody can write to",
      (path) => chmodSync(path, 0o666),
      /everybody can write to .* \(mode 0666\)$/,
    ],
    [
      "that a group can write to",
      (path) => chmodSync(path, 0o660),
      /group \d+ can write to .* \(mode 0660\)$/,
    ],
  ])("%s is refused", async (_, change, message) => {
    const { directory, store } = await aStore();
    change(join(directory, "folder/a"));
    expect(await rejection(store.get("folder/a"))).toMatchObject({
      problem: "refused",
      message: expect.stringMatching(message),
    });
  });
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
    // What a kubelet does to all that is in a volume, each time that it mounts the volume.
    for (const name of ["folder", ".groupsync"]) chmodSync(join(directory, name), 0o2770);
    for (const name of ["folder/a", ".groupsync/name"]) chmodSync(join(directory, name), 0o660);
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
    ["its mark", ".groupsync/name"],
  ])("%s is refused once it is that user's", async (_, path) => {
    const { directory, store } = await aStore();
    chownSync(join(directory, path), ANOTHER, ANOTHER);
    for (const call of [() => store.get(store.owner), () => store.prepare()])
      expect(everythingIn(await rejection(call()))).toContain("belongs to user 12345");
  });

  test("a token that is that user's is neither read nor removed", async () => {
    const { directory, store } = await aStore();
    chownSync(join(directory, "folder/a"), ANOTHER, ANOTHER);
    for (const call of [() => store.get("folder/a"), () => store.remove("folder/a")])
      expect(await rejection(call())).toMatchObject({ problem: "refused" });
  });

  test("a mark that is planted in a sticky directory around it keeps nobody out", async () => {
    const around = aFolder(0o1777);
    const planted = join(around, ".groupsync");
    mkdirSync(planted);
    writeFileSync(join(planted, "name"), "theirs");
    for (const path of [planted, join(planted, "name")]) chownSync(path, ANOTHER, ANOTHER);
    const store = aFileStore(join(around, "tokens"));
    expect(await store.get(store.owner)).toBeUndefined();
    chmodSync(around, 0o755);
    expect(await store.get(store.owner)).toMatchObject({ isManaged: false });
  });
});
