import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rejection } from "../../../contracts/collect.ts";
import { aStore } from "./a-folder.ts";

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
