import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readableByAll } from "../../../src/adapters/host/files.ts";

function aFile(mode: number, folderMode = 0o755): string {
  const top = mkdtempSync(join(tmpdir(), "groupsync-readable-"));
  onTestFinished(() => rmSync(top, { recursive: true }));
  chmodSync(top, 0o755);
  const folder = join(top, "folder");
  mkdirSync(folder);
  const file = join(folder, "config.yaml");
  writeFileSync(file, "");
  chmodSync(file, mode);
  chmodSync(folder, folderMode);
  return file;
}

test.each([0o644, 0o604])("a file with the mode %o is readable by all", (mode) => {
  expect(readableByAll(aFile(mode))).toEqual({ mode, uid: process.geteuid?.() });
});

test.each([
  ["a mode that keeps others out", aFile.bind(null, 0o640)],
  ["one that lets them write alone", aFile.bind(null, 0o602)],
  ["a folder that nobody else gets through", aFile.bind(null, 0o644, 0o700)],
  ["no file", () => "/nowhere/at/all"],
])("%s is readable by some at most", (_, file) => {
  expect(readableByAll(file())).toBeUndefined();
});

test("a link counts as what it leads to", () => {
  const link = `${aFile(0o644)}.link`;
  symlinkSync("config.yaml", link);
  expect(readableByAll(link)).toBeDefined();
  chmodSync(link, 0o600);
  expect(readableByAll(link)).toBeUndefined();
});
