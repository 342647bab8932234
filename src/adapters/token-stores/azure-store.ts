import type { DeletedSecret, SecretClient } from "@azure/keyvault-secrets";
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
import {
  hasTags,
  type ManagedTags,
  managedTags,
  type SecretStore,
  SecretStoreFailure,
  scopeIn,
} from "./secret-store.ts";
import { TaggedStore, type VendorSecret, type VendorSecrets } from "./tagged-store.ts";
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
export const azureStore = (options: AzureStoreOptions, access?: AzureAccess): SecretStore =>
  new TaggedStore(new AzureSecrets(options, access));

class AzureSecrets implements VendorSecrets<VendorSecret> {
  readonly naming = SECRET_NAMING.azure_key_vault;
  readonly title: string;
  readonly #tags: ManagedTags;
  readonly #client: VendorClient<SecretClient>;

  constructor(options: AzureStoreOptions, access: AzureAccess = {}) {
    const { vaultUrl, scope } = options;
    this.#client = new VendorClient({ connect: () => connect(vaultUrl, access), isLoginFailure, failureOf });
    this.#tags = managedTags(scope);
    this.title = `Key Vault at ${vaultUrl}`;
  }

  async find(name: string): Promise<VendorSecret | undefined> {
    const secret = await this.#client.unless(isStatus(404), (client) =>
      client.getSecret(name).catch(expected(isDisabled, "disabled" as const)),
    );
    if (!secret) return undefined;
    if (secret === "disabled")
      return { isManaged: await this.#hasManaged(name), content: async () => undefined };
    const { tags } = secret.properties;
    // Each version has its own tags. A version that was set by hand has none, even if the secret is groupsync's.
    const isManaged = this.#manages(tags) || (!tags?.["managed-by"] && (await this.#hasManaged(name)));
    return { isManaged, scope: scopeIn(tags), content: async () => new Secret(secret.value ?? "") };
  }

  /** Looks first: Key Vault has no call that creates a secret only if there is none. */
  async create(name: string, content: Secret): Promise<"created" | VendorSecret | undefined> {
    const found = await this.find(name);
    if (found) return found;
    if (await this.#set(name, content)) return "created";
    return (await this.#recover(name)) ? this.find(name) : undefined;
  }

  replace(name: string, _: VendorSecret, content: Secret): Promise<boolean> {
    return this.#set(name, content);
  }

  async remove(name: string): Promise<boolean> {
    const deleted = await this.#client.unless(isStatus(404), async (client) =>
      done(await client.beginDeleteSecret(name, POLL)),
    );
    if (deleted) await this.#purge(deleted);
    return true;
  }

  async purge(name: string): Promise<void> {
    const deleted = await this.#findDeleted(name);
    if (deleted && this.#manages(deleted.properties.tags)) await this.#purge(deleted);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #manages(tags: Tags): boolean {
    return hasTags(tags, this.#tags);
  }

  /** Whether any version of the secret is groupsync's. */
  #hasManaged(name: string): Promise<boolean> {
    return this.#client.call(async (client) => {
      for await (const { tags } of client.listPropertiesOfSecretVersions(name))
        if (this.#manages(tags)) return true;
      return false;
    });
  }

  /** False if a secret that was deleted, or is being deleted, still takes the name. */
  async #set(name: string, content: Secret): Promise<boolean> {
    const options = { tags: this.#tags };
    const set = await this.#client.unless(isStatus(409), (client) =>
      client.setSecret(name, content.reveal(), options),
    );
    return set !== undefined;
  }

  #findDeleted(name: string): Promise<DeletedSecret | undefined> {
    return this.#client.unless(isStatus(404), (client) => client.getDeletedSecret(name));
  }

  /** False if there is nothing to recover: the secret is still being deleted, or purged already. */
  async #recover(name: string): Promise<boolean> {
    const deleted = await this.#findDeleted(name);
    if (!deleted) return false;
    if (!this.#manages(deleted.properties.tags)) throw deletedByOthers(name);
    await this.#client.call(async (client) => done(await client.beginRecoverDeletedSecret(name, POLL)));
    return true;
  }

  /** A protected vault keeps the secret for its retention time. A `put` recovers it. */
  async #purge({ name, properties: { recoveryLevel } }: DeletedSecret): Promise<void> {
    if (recoveryLevel && !recoveryLevel.includes("Purgeable")) return;
    // 404 and 409: the secret is gone, or is being purged.
    await this.#client.unless(isStatus(404, 409), (client) => client.purgeDeletedSecret(name));
  }
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
