import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFiles } from "../../../src/adapters/host/files.ts";

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-new-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

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
