import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rejection } from "../../../contracts/collect.ts";
import { everythingIn } from "../../../contracts/everything-in.ts";
import { aFileStore } from "./a-file-store.ts";
import { aFolder, aKeyFile, aStore, KEY, put } from "./a-folder.ts";

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

  test.each(["name", "owner"])(".groupsync/%s reveals nothing of its target", async (name) => {
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

  test("a mark in a directory above isn't read", async () => {
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

test("a directory that was given up, with the files in it, is free for another config", async () => {
  const directory = aFolder();
  const store = aFileStore(directory);
  await store.prepare();
  await put(store, "a");
  await put(store, store.owner);
  const next = aFileStore(directory, { scope: "next" });
  await expect(next.prepare()).rejects.toMatchObject({ problem: "unavailable" });
  await store.giveUp();
  await next.prepare();
  expect(await next.get(next.owner)).toMatchObject({ isManaged: true, scope: "next" });
  expect((await next.get("a"))?.content.reveal()).toBe("token");
});
