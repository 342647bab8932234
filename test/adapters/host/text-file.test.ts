import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readTextFile } from "../../../src/adapters/host/files.ts";

function aFile(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-text-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "file");
  writeFileSync(file, content);
  return file;
}

test.each(["", "name: x\n", `${"ü".repeat(40_000)}€`, "x".repeat(1024 * 1024)])(
  "a file is read whole and as it is, %#",
  (content) => {
    expect(readTextFile(aFile(content))).toBe(content);
  },
);

test.each(["/dev/zero", "one byte more than 1 MiB"])("%s is refused before it fills the memory", (name) => {
  const path = name.startsWith("/") ? name : aFile("x".repeat(1024 * 1024 + 1));
  expect(() => readTextFile(path)).toThrow(expect.objectContaining({ code: "EFBIG" }));
});

test("a file that isn't there has the system's own error", () => {
  expect(() => readTextFile("/nowhere/at/all")).toThrow(expect.objectContaining({ code: "ENOENT" }));
});
