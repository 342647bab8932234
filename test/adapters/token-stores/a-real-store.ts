import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { hostClock } from "../../../src/adapters/host/clock.ts";
import type { SecretStore } from "../../../src/adapters/token-stores/secret-store.ts";
import { SecretTokenStore } from "../../../src/adapters/token-stores/secret-token-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { removeTokens, writeTokens } from "../../contracts/token-store.ts";

const IDS = ["a", "A", " a", "a/b", "..", "=", "ä😀\n", "x".repeat(600)];
/** A vendor's store follows its own changes, and slows down whom it likes. */
const PATIENCE = { timeout: 300_000 };

/** What a store shows against its vendor's own service, where the variable names one. Few calls: each may cost money. */
export function realSecretStoreSuite(
  vendor: string,
  variable: string,
  makeStore: (place: string, scope: string, prefix: string) => SecretStore,
): void {
  const place = process.env[variable] ?? "";

  function aStore(prefix: string, scope: string) {
    const secrets = makeStore(place, scope, prefix);
    onTestFinished(() => secrets.close());
    const tokens = new SecretTokenStore(secrets, { path: [prefix, ""], format: "token" }, hostClock);
    return {
      tokens,
      write: (token: string) =>
        writeTokens({ store: tokens }, Object.fromEntries(IDS.map((id) => [id, token]))),
      read: async () => [...(await tokens.read(IDS)).values()].map((token) => token.reveal()),
      remove: () => removeTokens({ store: tokens }, IDS),
      secrets,
    };
  }
  const aName = () => `groupsync-test-${randomUUID()}-`;

  describe.skipIf(place === "")(`${vendor}, the one that ${variable} names`, () => {
    test("takes tokens, other tokens, lets them go, and takes them again", PATIENCE, async () => {
      const scope = randomUUID();
      const { tokens, write, read, remove } = aStore(aName(), scope);
      onTestFinished(async () => void (await remove()));
      await tokens.prepare();
      for (const token of ["1", `"2"\n😀`]) {
        expect(await write(token)).toEqual(new Map());
        // Some stores show a change only after a moment.
        await expect.poll(read, { timeout: 60_000 }).toEqual(IDS.map(() => token));
      }
      expect(await remove()).toEqual(new Map());
      await expect.poll(read, { timeout: 60_000 }).toEqual([]);
      expect(await write("3")).toEqual(new Map());
      await expect.poll(read, { timeout: 60_000 }).toEqual(IDS.map(() => "3"));
    });

    test("leaves alone what another config manages", PATIENCE, async () => {
      const prefix = aName();
      const ours = aStore(prefix, "ours");
      const theirs = aStore(prefix, "theirs");
      onTestFinished(async () => void (await theirs.remove()));
      await theirs.secrets.put(`${prefix}a`, new Secret("theirs"), () => false);
      for (const call of [
        () => ours.secrets.put(`${prefix}a`, new Secret("ours"), () => false),
        () => ours.secrets.remove(`${prefix}a`),
      ])
        expect(await rejection(call())).toMatchObject({ problem: "refused" });
    });
  });
}
