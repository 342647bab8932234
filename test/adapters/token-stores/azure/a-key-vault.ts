import { onTestFinished } from "vitest";
import { AzureStore } from "../../../../src/adapters/token-stores/azure/azure-store.ts";
import { Secret } from "../../../../src/core/secret/secret.ts";
import { aCertificateAuthority } from "../../../support/servers/certificates.ts";
import { AzureServer } from "./azure-server.ts";

export const OURS = { "managed-by": "groupsync", "groupsync-name": "default" };
/** Must not be seen again. */
export const SECRET = "hush-hush";

const authority = await aCertificateAuthority("Key Vault");
const certificate = await authority.issue(["127.0.0.1"]);

/** A secret store, and the Key Vault that it speaks to. */
export async function aWorld() {
  const server = new AzureServer(certificate);
  await server.start();
  onTestFinished(() => server.stop());
  const world = {
    server,
    logins: 0,
    /** How long a login lasts. */
    lasts: 3_600_000,
    getToken: async () => {
      world.logins++;
      return { token: `login-${world.logins}`, expiresOnTimestamp: Date.now() + world.lasts };
    },
  };
  const access = {
    credential: { getToken: () => world.getToken() },
    // The vault has no name of Azure's here.
    client: { tlsOptions: { ca: authority.cert }, disableChallengeResourceVerification: true },
  };
  const secrets = new AzureStore({ vaultUrl: server.url, scope: "default" }, access);
  return Object.assign(world, { secrets, access });
}

/** The same, closed with the test, and spoken to in words. */
export async function aStore() {
  const world = await aWorld();
  const { server, secrets } = world;
  onTestFinished(() => secrets.close());
  const put = (name: string, content: string) =>
    secrets.put(name, new Secret(content), (found) => found.reveal() === content);
  const get = async (name: string) => {
    const found = await secrets.get(name);
    return found?.isManaged ? found.content.reveal() : found && "not managed";
  };
  const called = () => server.calls.splice(0).map(({ method, path }) => `${method} ${path.split("/")[1]}`);
  return { ...world, world, put, get, called };
}
