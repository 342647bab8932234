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
  type FoundSecret,
  hasTags,
  type ManagedTags,
  managedTags,
  notManaged,
  type SecretStore,
  SecretStoreFailure,
  scopeIn,
} from "./secret-store.ts";
import { expected, VendorClient } from "./vendor-client.ts";

interface AzureStoreOptions {
  /** Such as `https://NAME.vault.azure.net`. */
  readonly vaultUrl: string;
  /** The config's `name`. */
  readonly scope: string;
}

interface Found {
  readonly isManaged: boolean;
  readonly scope?: string | undefined;
  /** Left out if the newest version is disabled. */
  readonly content?: Secret;
}

type Tags = Readonly<Record<string, string>> | undefined;

const POLL = { intervalInMs: 500 };
/** How long the vault may take to delete or to recover a secret, in milliseconds. */
const LONGEST_CHANGE = 30_000;

/** Secrets in Azure's Key Vault. The newest version counts; older ones can't be deleted, and stay. */
export class AzureStore implements SecretStore {
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

  async get(name: string): Promise<FoundSecret | undefined> {
    const found = await this.#find(name);
    if (!found) return undefined;
    if (!found.isManaged) return { content: new Secret(""), isManaged: false, scope: found.scope };
    return found.content && { content: found.content, isManaged: true };
  }

  /** Looks first: Key Vault has no call that creates a secret only if there is none. */
  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    if (await this.#put(name, content, isGood)) return;
    await this.#recover(name);
    if (!(await this.#put(name, content, isGood))) throw beingChanged(name);
  }

  async remove(name: string): Promise<void> {
    const found = await this.#find(name);
    if (found && !found.isManaged) throw notManaged(name);
    const deleted = found ? await this.#delete(name) : await this.#findDeleted(name);
    if (deleted && (found || this.#manages(deleted.properties.tags))) await this.#purge(deleted);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #manages(tags: Tags): boolean {
    return hasTags(tags, this.#tags);
  }

  async #find(name: string): Promise<Found | undefined> {
    const secret = await this.#client.unless(isStatus(404), (client) =>
      client.getSecret(name).catch(expected(isDisabled, "disabled" as const)),
    );
    if (!secret) return undefined;
    if (secret === "disabled") return { isManaged: await this.#hasManaged(name) };
    const { tags } = secret.properties;
    // Each version has its own tags. A version that was set by hand has none, even if the secret is groupsync's.
    const isManaged = this.#manages(tags) || (!tags?.["managed-by"] && (await this.#hasManaged(name)));
    return { isManaged, scope: scopeIn(tags), content: new Secret(secret.value ?? "") };
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
  async #put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<boolean> {
    const found = await this.#find(name);
    if (found && !found.isManaged) throw notManaged(name);
    if (found?.content && isGood(found.content)) return true;
    const options = { tags: this.#tags };
    const set = await this.#client.unless(isStatus(409), (client) =>
      client.setSecret(name, content.reveal(), options),
    );
    return set !== undefined;
  }

  #findDeleted(name: string): Promise<DeletedSecret | undefined> {
    return this.#client.unless(isStatus(404), (client) => client.getDeletedSecret(name));
  }

  async #recover(name: string): Promise<void> {
    const deleted = await this.#findDeleted(name);
    if (!deleted) throw beingChanged(name);
    if (!this.#manages(deleted.properties.tags)) throw deletedByOthers(name);
    await this.#client.call(async (client) => done(await client.beginRecoverDeletedSecret(name, POLL)));
  }

  #delete(name: string): Promise<DeletedSecret | undefined> {
    return this.#client.unless(isStatus(404), async (client) =>
      done(await client.beginDeleteSecret(name, POLL)),
    );
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

const beingChanged = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "passing",
    `the secret ${name} is being deleted, purged or recovered`,
    "that takes the vault a few seconds",
  );

const deletedByOthers = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "refused",
    `the secret ${name} was deleted and can be recovered, and groupsync doesn't manage it`,
    "purge it, or give tokens.path a name of its own",
  );
