import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";
import { rejection } from "../../contracts/collect.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { approle, aVault, JWT, type VaultServer } from "./servers/vault-server.ts";

const never = () => false;
const secret = (text: string) => new Secret(text);

describe("a login to Vault, against a server written from the reference", () => {
  const logins = (server: VaultServer) => server.said().filter((line) => line.endsWith("/login")).length;
  const renewals = (server: VaultServer) =>
    server.said().filter((line) => line.endsWith("/renew-self")).length;

  test("by AppRole is made once, and given back at the end", async () => {
    const { server, store } = await aVault(approle);
    await Promise.all(["t-a", "t-b", "t-c"].map((name) => store.put(name, secret(name), never)));
    expect(logins(server)).toBe(1);
    await store.close();
    expect([...server.tokens]).toEqual([server.rootToken]);
  });

  test("that can't be given back holds nobody up", async () => {
    const { server, store } = await aVault(approle);
    await store.inspect();
    server.instead = () => "silence";
    await store.close();
    expect(server.said()).toContain("POST auth/token/revoke-self");
  });

  test("by a service account reads its token anew each time", async () => {
    const folder = temporaryFolder();
    const tokenFile = join(folder, "token");
    const auth = {
      method: "kubernetes",
      mount: "kubernetes",
      role: "groupsync",
      token_file: tokenFile,
    } as const;
    const { server, store } = await aVault({ auth });
    expect(await rejection(store.inspect())).toMatchObject({
      problem: "unavailable",
      message: expect.stringContaining(tokenFile),
    });
    await writeFile(tokenFile, `${JWT}-expired`);
    const error = await rejection(store.inspect());
    expect(error).toMatchObject({
      problem: "unavailable",
      hint: expect.stringContaining("tokens.auth.role"),
    });
    expect(everythingIn(error)).not.toContain(JWT);
    await writeFile(tokenFile, `${JWT}\n`);
    await store.put("t-a", secret("one"), never);
    expect(logins(server)).toBe(2);
  });

  test("that is refused says so, without the secret_id", async () => {
    const { server, store } = await aVault({
      auth: { ...approle.auth, secret_id: secret("an-old-secret-id") },
    });
    server.instead = ({ body }) => ({ status: 400, body: { errors: [JSON.stringify(body)] } });
    const error = await rejection(store.inspect());
    expect(error).toMatchObject({ problem: "unavailable", hint: expect.stringContaining("secret_id") });
    expect(everythingIn(error)).not.toContain("an-old-secret-id");
  });

  test("is made anew when half of its lease is over, once for all", async () => {
    const { server, store, time } = await aVault(approle);
    await store.get("t-a");
    await time.sleep(1_799_000);
    await store.get("t-a");
    expect(logins(server)).toBe(1);
    await time.sleep(1_000);
    await Promise.all([store.get("t-a"), store.get("t-b")]);
    expect(logins(server)).toBe(2);
  });

  test("that ended in the middle of a run is made anew once, for all", async () => {
    const { server, store } = await aVault(approle);
    await store.put("t-a", secret("one"), never);
    server.tokens.clear();
    const found = await Promise.all(Array.from({ length: 8 }, () => store.get("t-a")));
    expect(found.map((one) => one?.content.reveal())).toEqual(Array(8).fill("one"));
    expect(logins(server)).toBe(2);
  });

  test("with a token is renewed at first, and when half of its lease is over, and can't be made anew", async () => {
    const { server, store, time } = await aVault();
    await store.get("t-a");
    await store.get("t-a");
    expect(renewals(server)).toBe(1);
    await time.sleep(1_800_000);
    await store.get("t-a");
    expect(renewals(server)).toBe(2);
    server.tokens.clear();
    const error = await rejection(store.get("t-a"));
    expect(error).toMatchObject({ problem: "unavailable" });
    expect(everythingIn(error)).not.toContain(server.rootToken);
  });

  test.each([
    ["no active node", "passing"],
    ["Vault is sealed", "unavailable"],
  ])("with a token is renewed once Vault is well again, after: %s", async (said, problem) => {
    const { server, store } = await aVault();
    server.instead = ({ path }) =>
      path.endsWith("/renew-self") ? { status: 503, body: { errors: [said] } } : undefined;
    expect(await rejection(store.get("t-a"))).toMatchObject({ problem });
    server.instead = () => undefined;
    await store.get("t-a");
    expect(renewals(server)).toBe(2);
  });

  test("with a token that can't be renewed is good all the same", async () => {
    const { server, store } = await aVault();
    server.isRenewable = false;
    await store.put("t-a", secret("one"), never);
    expect(await store.get("t-a")).toMatchObject({ isManaged: true });
    expect(renewals(server)).toBe(1);
  });
});
