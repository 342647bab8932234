import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFiles, readableByAll, readTextFile } from "../../../src/adapters/host/files.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function aFolder(): string {
  const folder = temporaryFolder();
  return folder;
}

function aFileWith(content: string): string {
  const file = join(aFolder(), "file");
  writeFileSync(file, content);
  return file;
}

describe("a file that is read", () => {
  test.each(["", "name: x\n", `${"ü".repeat(40_000)}€`, "x".repeat(1024 * 1024)])(
    "a file is read whole and as it is, %#",
    (content) => {
      expect(readTextFile(aFileWith(content))).toBe(content);
    },
  );

  test.each(["/dev/zero", "one byte more than 1 MiB"])("%s is refused before it fills the memory", (name) => {
    const path = name.startsWith("/") ? name : aFileWith("x".repeat(1024 * 1024 + 1));
    expect(() => readTextFile(path)).toThrow(expect.objectContaining({ code: "EFBIG" }));
  });

  test("a file that isn't there has the system's own error", () => {
    expect(() => readTextFile("/nowhere/at/all")).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});

describe("files that are made", () => {
  const NOT_WRITTEN = expect.objectContaining({ code: "CONFIG_NOT_WRITTEN" });

  test("all files are made with their texts", () => {
    const folder = aFolder();
    createFiles([
      { path: join(folder, "a"), text: "ä" },
      { path: join(folder, "b"), text: "" },
    ]);
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("ä");
    expect(readFileSync(join(folder, "b"), "utf8")).toBe("");
  });

  test.each([
    ["a file", (path: string) => writeFileSync(path, "mine")],
    ["a folder", (path: string) => mkdirSync(path)],
    ["a link that leads nowhere", (path: string) => symlinkSync("/nowhere/at/all", path)],
  ])("%s in the place of one of them stays, and none is made", (_, make) => {
    const folder = aFolder();
    const [first, taken] = [join(folder, "a"), join(folder, "b")];
    make(taken);
    const files = [first, taken].map((path) => ({ path, text: "new" }));
    expect(() => createFiles(files)).toThrow(NOT_WRITTEN);
    expect(readdirSync(folder)).toEqual(["b"]);
  });

  test.each([
    ["a folder that isn't there", "none/a"],
    ["a file in place of a folder", "file/a"],
    ["a folder behind a link that leads to itself", "loop/a"],
    ["a name that is too long", "a".repeat(300)],
  ])("%s is no place for a file", (_, name) => {
    const folder = aFolder();
    writeFileSync(join(folder, "file"), "");
    symlinkSync("loop", join(folder, "loop"));
    const path = join(folder, name);
    expect(() => createFiles([{ path, text: "" }])).toThrow(NOT_WRITTEN);
  });
});

/** A file with this mode, in a folder with that mode. */
function aFileOf(mode: number, folderMode = 0o755): string {
  const top = aFolder();
  chmodSync(top, 0o755);
  const folder = join(top, "folder");
  mkdirSync(folder);
  const file = join(folder, "config.yaml");
  writeFileSync(file, "");
  chmodSync(file, mode);
  chmodSync(folder, folderMode);
  return file;
}

describe("who may read a file:", () => {
  test.each([0o644, 0o604])("a file with the mode %o is readable by all", (mode) => {
    expect(readableByAll(aFileOf(mode))).toEqual({ mode, uid: process.geteuid?.() });
  });

  test.each([
    ["a mode that keeps others out", aFileOf.bind(null, 0o640)],
    ["one that lets them write alone", aFileOf.bind(null, 0o602)],
    ["a folder that nobody else gets through", aFileOf.bind(null, 0o644, 0o700)],
    ["no file", () => "/nowhere/at/all"],
  ])("%s is readable by some at most", (_, file) => {
    expect(readableByAll(file())).toBeUndefined();
  });

  test("a link counts as what it leads to", () => {
    const link = `${aFileOf(0o644)}.link`;
    symlinkSync("config.yaml", link);
    expect(readableByAll(link)).toBeDefined();
    chmodSync(link, 0o600);
    expect(readableByAll(link)).toBeUndefined();
  });
});
