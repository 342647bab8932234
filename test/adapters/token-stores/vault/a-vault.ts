import { onTestFinished } from "vitest";
import {
  VaultStore,
  type VaultStoreOptions,
} from "../../../../src/adapters/token-stores/vault/vault-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { isOfBOrD } from "../../../contracts/token-store.ts";
import { VirtualClock, VirtualTime } from "../../../fakes/virtual-time.ts";
import { PATH, type SecretWorld } from "../secrets/a-secret-place.ts";
import { SECRET_ID, type VaultCall, type VaultReply, VaultServer } from "./vault-server.ts";

export const MARKS = { "managed-by": "groupsync", "groupsync-name": "default" };

/** A store on a server of its own. */
export async function aVault(options: Partial<VaultStoreOptions> = {}, server = new VaultServer()) {
  await server.start();
  const time = new VirtualTime();
  const clock = new VirtualClock(time);
  const store = new VaultStore(
    {
      address: server.address,
      mount: "secret",
      auth: { method: "token", token: new Secret(server.rootToken) },
      path: PATH,
      format: "token",
      scope: "default",
      ...options,
    },
    clock,
  );
  onTestFinished(() => store.close());
  return { server, kv: server.kv, store, time, clock };
}

export const approle = {
  auth: { method: "approle", mount: "approle", roleId: "a-role", secretId: new Secret(SECRET_ID) },
} as const;

/** The one field of each secret; a mark without a version is none. */
export const tokensIn = (
  contents: Readonly<Record<string, Record<string, unknown>>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contents).flatMap(([name, { token }]) =>
      typeof token === "string" ? [[name, token]] : [],
    ),
  );

/** What the contract of token stores wants to go wrong. */
export const faultsOf = (server: VaultServer): Omit<SecretWorld, "secrets" | "contents"> => ({
  refuseSome: async () => {
    server.instead = ({ method, body }) =>
      method === "POST" ? quoting("refused", tokenIn(body)) : undefined;
  },
  keepSome: async () => {
    const kept = (path: string) => /[bd]$/.exec(path)?.map((id) => `kept-${id}`)[0];
    server.instead = ({ method, path }) => (method === "DELETE" ? quoting("kept", kept(path)) : undefined);
  },
  breakDown: () => server.close(),
  forbid: async (which) => {
    server.instead = ({ path }) =>
      which === "all" || isOfBOrD(path)
        ? { status: 403, body: { errors: ["1 error occurred:\n\t* permission denied\n\n"] } }
        : undefined;
  },
});

const tokenIn = (body: VaultCall["body"]): unknown =>
  (body as { data?: { token?: unknown } } | undefined)?.data?.token;

/** Refuses a token that begins so with words that quote it. */
const quoting = (start: string, token: unknown): VaultReply | undefined =>
  typeof token === "string" && token.startsWith(start)
    ? { status: 400, body: { errors: [`can't do that with ${token}`], data: token } }
    : undefined;
