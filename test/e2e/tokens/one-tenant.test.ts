import { expect, onTestFinished, test } from "vitest";
import { VaultServer } from "../../adapters/token-stores/servers/vault-server.ts";
import { aWorld, idOf } from "../world.ts";

const denied = { status: 403, body: { errors: ["permission denied"] } };

test("a secret that Vault forbids costs its tenant alone: others are created, rotated and deleted", async () => {
  const vault = await new VaultServer().start();
  onTestFinished(() => vault.close());
  const world = await aWorld({
    tenants: 20,
    config: {
      tokens: {
        store: "vault",
        address: vault.address,
        mount: "secret",
        path: "t/{{ user_group_id }}",
        auth: { method: "token", token: `\${VAULT_TOKEN}` },
      },
      deletion: { grace_period: "0s" },
    },
  });
  world.env.VAULT_TOKEN = vault.rootToken;
  const secret = (n: number) => `t/${idOf(n)}`;
  const forbid = (...tenants: number[]) => {
    vault.instead = ({ path }) => (tenants.some((n) => path.endsWith(secret(n))) ? denied : undefined);
  };
  const tokens = () => {
    const secrets = Object.entries(vault.kv.contents()).filter(([name]) => name.startsWith("t/t-"));
    return Object.fromEntries(secrets.map(([name, { token }]) => [name.slice(2), token]));
  };
  const failing = (n: number, code: string) => [expect.objectContaining({ user_group_id: idOf(n), code })];

  forbid(7);
  const first = await world.sync();
  expect(first).toMatchObject({ code: 3, report: { created: 19, failed: 1 } });
  expect(first.report.errors).toEqual(failing(7, "TOKEN_NOT_STORED"));
  const { [idOf(7)]: _, ...others } = await world.live();
  expect(tokens()).toEqual(others);

  vault.instead = () => undefined;
  expect(await world.sync("--only", idOf(7))).toMatchObject({ code: 0 });
  expect(tokens()).toEqual(await world.live());
  const before = await world.live();

  forbid(7);
  expect(await world.rotate("--all", "--yes")).toMatchObject({ code: 3, report: { rotated: 19 } });
  const after = await world.live();
  expect(after[idOf(7)]).toBe(before[idOf(7)]);
  expect(tokens()).toEqual(after);

  forbid(20);
  await world.removeTenants(19, 20);
  const last = await world.sync();
  expect(last).toMatchObject({ code: 3, report: { deleted: 1 } });
  expect(last.report.errors).toEqual(failing(20, "TOKEN_NOT_REMOVED"));
  expect(Object.keys(tokens()).sort()).toEqual(Object.keys(after).filter((id) => id !== idOf(19)));
});
