import type { DeletedSecret } from "@azure/keyvault-secrets";
import { Secret } from "../../core/secret/secret.ts";
import { SECRET_NAMING } from "../../core/tokens/secrets.ts";
import {
  type AzureAccess,
  connect,
  failureOf,
  isDisabled,
  isLoginFailure,
  isStatus,
} from "./azure-client.ts";
import { hasTags, managedTags, type SecretStore, SecretStoreFailure, scopeIn } from "./secret-store.ts";
import { taggedStore, type VendorSecret } from "./tagged-store.ts";
import { expected, VendorClient } from "./vendor-client.ts";

interface AzureStoreOptions {
  /** Such as `https://NAME.vault.azure.net`. */
  readonly vaultUrl: string;
  /** The config's `name`. */
  readonly scope: string;
}

type Tags = Readonly<Record<string, string>> | undefined;

const POLL = { intervalInMs: 500 };
/** How long the vault may take to delete or to recover a secret, in milliseconds. */
const LONGEST_CHANGE = 30_000;

/** Secrets in Azure's Key Vault. The newest version counts; older ones can't be deleted, and stay. */
export function azureStore({ vaultUrl, scope }: AzureStoreOptions, access: AzureAccess = {}): SecretStore {
  const vendor = new VendorClient({ connect: () => connect(vaultUrl, access), isLoginFailure, failureOf });
  const ours = managedTags(scope);

  function manages(tags: Tags): boolean {
    return hasTags(tags, ours);
  }

  /** Whether any version of the secret is groupsync's. */
  function hasManaged(name: string): Promise<boolean> {
    return vendor.call(async (client) => {
      for await (const { tags } of client.listPropertiesOfSecretVersions(name))
        if (manages(tags)) return true;
      return false;
    });
  }

  /** False if a secret that was deleted, or is being deleted, still takes the name. */
  async function set(name: string, content: Secret): Promise<boolean> {
    const options = { tags: ours };
    const made = await vendor.unless(isStatus(409), (client) =>
      client.setSecret(name, content.reveal(), options),
    );
    return made !== undefined;
  }

  function findDeleted(name: string): Promise<DeletedSecret | undefined> {
    return vendor.unless(isStatus(404), (client) => client.getDeletedSecret(name));
  }

  /** False if there is nothing to recover: the secret is still being deleted, or purged already. */
  async function recover(name: string): Promise<boolean> {
    const deleted = await findDeleted(name);
    if (!deleted) return false;
    if (!manages(deleted.properties.tags)) throw deletedByOthers(name);
    await vendor.call(async (client) => done(await client.beginRecoverDeletedSecret(name, POLL)));
    return true;
  }

  /** A protected vault keeps the secret for its retention time. A `put` recovers it. */
  async function purgeDeleted({ name, properties: { recoveryLevel } }: DeletedSecret): Promise<void> {
    if (recoveryLevel && !recoveryLevel.includes("Purgeable")) return;
    // 404 and 409: the secret is gone, or is being purged.
    await vendor.unless(isStatus(404, 409), (client) => client.purgeDeletedSecret(name));
  }

  async function find(name: string): Promise<VendorSecret | undefined> {
    const secret = await vendor.unless(isStatus(404), (client) =>
      client.getSecret(name).catch(expected(isDisabled, "disabled" as const)),
    );
    if (!secret) return undefined;
    if (secret === "disabled") return { isManaged: await hasManaged(name), content: async () => undefined };
    const { tags } = secret.properties;
    // Each version has its own tags. A version that was set by hand has none, even if the secret is groupsync's.
    const isManaged = manages(tags) || (!tags?.["managed-by"] && (await hasManaged(name)));
    return { isManaged, scope: scopeIn(tags), content: async () => new Secret(secret.value ?? "") };
  }

  return taggedStore({
    naming: SECRET_NAMING.azure_key_vault,
    title: `Key Vault at ${vaultUrl}`,
    find,
    /** Looks first: Key Vault has no call that creates a secret only if there is none. */
    async create(name, content) {
      const found = await find(name);
      if (found) return found;
      if (await set(name, content)) return "created";
      return (await recover(name)) ? find(name) : undefined;
    },
    replace: (name, _, content) => set(name, content),
    async remove(name) {
      const deleted = await vendor.unless(isStatus(404), async (client) =>
        done(await client.beginDeleteSecret(name, POLL)),
      );
      if (deleted) await purgeDeleted(deleted);
      return true;
    },
    async purge(name) {
      const deleted = await findDeleted(name);
      if (deleted && manages(deleted.properties.tags)) await purgeDeleted(deleted);
    },
    close: () => vendor.close(),
  });
}

interface SecretChange<T> {
  pollUntilDone(options: { abortSignal: AbortSignal }): Promise<T>;
}

const done = <T>(change: SecretChange<T>): Promise<T> =>
  change.pollUntilDone({ abortSignal: AbortSignal.timeout(LONGEST_CHANGE) });

const deletedByOthers = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "refused",
    `the secret ${name} was deleted and can be recovered, and groupsync doesn't manage it`,
    "purge it, or give tokens.path a name of its own",
  );
