import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { rehearseSecrets } from "../../../../src/adapters/token-stores/secrets/rehearsal.ts";
import {
  type SecretStore,
  SecretStoreFailure,
} from "../../../../src/adapters/token-stores/secrets/secret-store.ts";
import { InMemorySecretStore } from "../../../fakes/secret-store.ts";
import { aFileStore } from "../file/a-file-store.ts";
import { PATH } from "./a-secret-place.ts";

const rehearse = (secrets: SecretStore, canary: boolean) =>
  rehearseSecrets(secrets, PATH, canary, (work) => work());

describe("a store that remembers removed secrets", () => {
  test("gets nothing written without --canary, and its login is tried", async () => {
    const secrets = new InMemorySecretStore();
    const calls: string[] = [];
    secrets.atCall = (call) => void calls.push(call);
    expect(await rehearse(secrets, false)).toMatchObject({
      level: "warning",
      hint: expect.stringContaining("keep a deleted name for days"),
    });
    expect(calls).toEqual(["prepare"]);
  });

  test("gets one secret written with --canary, which is deleted afterwards", async () => {
    const secrets = new InMemorySecretStore();
    expect(await rehearse(secrets, true)).toMatchObject({ level: "ok" });
    expect(secrets.written).toEqual([expect.stringMatching(/^t-groupsync-check-[0-9a-f]{16}$/)]);
    expect(secrets.secrets.size).toBe(0);
  });

  test("that lacks the right to read has the secret deleted all the same", async () => {
    const secrets = new InMemorySecretStore();
    secrets.atCall = (call) => {
      if (call === "get") throw new SecretStoreFailure("unavailable", "no right to read", "grant it");
    };
    await expect(rehearse(secrets, true)).rejects.toMatchObject({ hint: "grant it" });
    expect(secrets.written).toHaveLength(1);
    expect(secrets.secrets.size).toBe(0);
  });

  test("that lacks the right to delete names the secret that stays behind", async () => {
    const secrets = new InMemorySecretStore();
    secrets.keeps = () => true;
    await expect(rehearse(secrets, true)).rejects.toMatchObject({
      message: expect.stringMatching(/t-groupsync-check-[0-9a-f]{16}/),
    });
  });
});

describe("a directory", () => {
  const aFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "groupsync-rehearsal-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return folder;
  };

  test("that is not there yet is not made", async () => {
    const directory = join(aFolder(), "new/tokens");
    expect(await rehearse(aFileStore(directory), false)).toMatchObject({
      level: "ok",
      message: expect.stringContaining("a sync creates the directory"),
    });
    expect(existsSync(join(directory, ".."))).toBe(false);
  });

  test("gets a file, which is gone afterwards, before groupsync's first use and after it", async () => {
    const directory = aFolder();
    const secrets = aFileStore(directory);
    expect(await rehearse(secrets, false)).toMatchObject({
      level: "ok",
      message: expect.stringContaining("written, read back and removed"),
    });
    expect(readdirSync(directory)).toEqual([]);
    await secrets.prepare();
    const before = readdirSync(directory, { recursive: true });
    expect(await rehearse(secrets, false)).toMatchObject({ level: "ok" });
    expect(readdirSync(directory, { recursive: true })).toEqual(before);
  });

  test("with somebody else's files is refused, as in a sync", async () => {
    const directory = aFolder();
    writeFileSync(join(directory, "theirs"), "");
    await expect(rehearse(aFileStore(directory), false)).rejects.toMatchObject({
      hint: expect.stringContaining("tokens.directory"),
    });
  });

  test("in a place that takes no files is refused", async () => {
    await expect(rehearse(aFileStore("/proc/sys/tokens"), false)).rejects.toBeInstanceOf(Error);
  });
});
