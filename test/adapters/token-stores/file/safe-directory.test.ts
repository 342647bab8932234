import { chmodSync, chownSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { aFileStore } from "./a-file-store.ts";
import { aFolder, aStore, put } from "./a-folder.ts";

const unsafe = (what: RegExp, hint: string) => ({
  code: "CONFIG_DIRECTORY_UNSAFE",
  message: expect.stringMatching(what),
  hint: expect.stringContaining(hint),
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
    writeFileSync(join(planted, "name"), "theirs");
    for (const path of [planted, join(planted, "name")]) chownSync(path, ANOTHER, ANOTHER);
    const store = aFileStore(join(around, "tokens"));
    expect(await store.get(store.owner)).toBeUndefined();
    chmodSync(around, 0o755);
    expect(await store.get(store.owner)).toMatchObject({ isManaged: false });
  });
});
