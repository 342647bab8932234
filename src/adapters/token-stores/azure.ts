import type { DeletedSecret, SecretClient } from "@azure/keyvault-secrets";
import { Secret } from "../../core/secret.ts";
import { SECRET_NAMING } from "../../core/secret-naming-by-store.ts";
import { failureOf, isLogin, isStatus, KeyVaultRefusal } from "./azure-failure.ts";
import { type AzureAccess, connect } from "./azure-login.ts";
import { type FoundSecret, notManaged, type SecretStore, SecretStoreFailure } from "./secret-store.ts";

export interface AzureStoreOptions {
  /** Such as `https://NAME.vault.azure.net`. */
  readonly vaultUrl: string;
  /** The config's `name`. */
  readonly scope: string;
}

interface Found {
  readonly isManaged: boolean;
  /** Left out where the newest version is disabled. */
  readonly newest?: { readonly version: string | undefined; readonly content: Secret };
}

type Tags = Readonly<Record<string, string>> | undefined;

const CALL = { requestOptions: { timeout: 15_000 } };
const POLL = { ...CALL, intervalInMs: 500 };
/** How long the vault may take to delete or to recover a secret, in milliseconds. */
const LONGEST_CHANGE = 30_000;

/** Secrets of Azure's Key Vault, of which the newest version counts; older ones can't be deleted, and are disabled. */
export class AzureStore implements SecretStore {
  readonly naming = SECRET_NAMING.azure_key_vault;
  readonly title: string;
  readonly #options: AzureStoreOptions;
  readonly #access: AzureAccess;
  readonly #tags: Readonly<Record<string, string>>;
  #client: Promise<SecretClient> | undefined;

  constructor(options: AzureStoreOptions, access: AzureAccess = {}) {
    this.#options = options;
    this.#access = access;
    this.#tags = { "managed-by": "groupsync", "groupsync-name": options.scope };
    this.title = `Key Vault at ${options.vaultUrl}`;
  }

  async prepare(): Promise<void> {
    await failing(() =>
      this.#call(async (client) => {
        for await (const _ of client.listPropertiesOfSecrets(CALL)) return;
      }),
    );
  }

  get(name: string): Promise<FoundSecret | undefined> {
    return failing(async () => {
      const found = await this.#find(name);
      if (!found) return undefined;
      if (!found.isManaged) return { content: new Secret(""), isManaged: false };
      return found.newest && { content: found.newest.content, isManaged: true };
    });
  }

  /** Key Vault can't make a secret only where there is none: a new one costs a look and a call. */
  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    await failing(async () => {
      if (await this.#put(name, content, isGood)) return;
      await this.#recover(name);
      if (!(await this.#put(name, content, isGood))) throw beingChanged(name);
    });
  }

  async remove(name: string): Promise<void> {
    await failing(async () => {
      const found = await this.#find(name);
      if (found && !found.isManaged) throw notManaged(name);
      const deleted = found ? await this.#delete(name) : await this.#findDeleted(name);
      if (deleted && (found || this.#manages(deleted.properties.tags))) await this.#purge(deleted);
    });
  }

  holdsAny(): Promise<boolean> {
    return failing(() =>
      this.#call(async (client) => {
        for await (const { tags } of client.listPropertiesOfSecrets(CALL))
          if (this.#manages(tags)) return true;
        return false;
      }),
    );
  }

  async close(): Promise<void> {
    this.#client = undefined;
  }

  #manages(tags: Tags): boolean {
    return Object.entries(this.#tags).every(([tag, value]) => tags?.[tag] === value);
  }

  async #find(name: string): Promise<Found | undefined> {
    try {
      const secret = await absent(this.#call((client) => client.getSecret(name, CALL)));
      if (!secret) return undefined;
      const { tags, version } = secret.properties;
      // Each version has its own tags: one that was set by hand in a secret of groupsync's has none.
      const isManaged = this.#manages(tags) || (!tags?.["managed-by"] && (await this.#hasManaged(name)));
      return { isManaged, newest: { version, content: new Secret(secret.value ?? "") } };
    } catch (error) {
      if (!(error instanceof KeyVaultRefusal && error.isDisabled)) throw error;
      return { isManaged: await this.#hasManaged(name) };
    }
  }

  /** Whether any version of the secret is groupsync's. */
  #hasManaged(name: string): Promise<boolean> {
    return this.#call(async (client) => {
      for await (const { tags } of client.listPropertiesOfSecretVersions(name, CALL))
        if (this.#manages(tags)) return true;
      return false;
    });
  }

  /** False where the name is taken by a secret that is deleted, or is just being so. */
  async #put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<boolean> {
    const found = await this.#find(name);
    if (found && !found.isManaged) throw notManaged(name);
    if (found?.newest && isGood(found.newest.content)) return true;
    if (!(await this.#set(name, content))) return false;
    if (found?.newest?.version) await this.#disable(name, found.newest.version);
    return true;
  }

  async #set(name: string, content: Secret): Promise<boolean> {
    const options = { ...CALL, tags: this.#tags };
    try {
      await this.#call((client) => client.setSecret(name, content.reveal(), options));
      return true;
    } catch (error) {
      if (isStatus(error, 409)) return false;
      throw error;
    }
  }

  /** The token in it is mostly dead, and who reads an old version by mistake should notice. */
  async #disable(name: string, version: string): Promise<void> {
    const change = { ...CALL, enabled: false };
    try {
      await this.#call((client) => client.updateSecretProperties(name, version, change));
    } catch (error) {
      const failure = failureOf(error);
      if (failure instanceof SecretStoreFailure && failure.problem !== "unavailable") return;
      throw failure;
    }
  }

  #findDeleted(name: string): Promise<DeletedSecret | undefined> {
    return absent(this.#call((client) => client.getDeletedSecret(name, CALL)));
  }

  async #recover(name: string): Promise<void> {
    const deleted = await this.#findDeleted(name);
    if (!deleted) throw beingChanged(name);
    if (!this.#manages(deleted.properties.tags)) throw deletedByOthers(name);
    const poller = await this.#call((client) => client.beginRecoverDeletedSecret(name, POLL));
    await poller.pollUntilDone({ abortSignal: AbortSignal.timeout(LONGEST_CHANGE) });
  }

  async #delete(name: string): Promise<DeletedSecret | undefined> {
    const poller = await absent(this.#call((client) => client.beginDeleteSecret(name, POLL)));
    return poller?.pollUntilDone({ abortSignal: AbortSignal.timeout(LONGEST_CHANGE) });
  }

  /** A vault that is protected keeps it until its time is over: a `put` brings it back. */
  async #purge({ name, properties: { recoveryLevel } }: DeletedSecret): Promise<void> {
    if (recoveryLevel && !recoveryLevel.includes("Purgeable")) return;
    try {
      await this.#call((client) => client.purgeDeletedSecret(name, CALL));
    } catch (error) {
      // It is gone, or on its way.
      if (!isStatus(error, 404, 409)) throw error;
    }
  }

  /** Logs in again, once, where the login has expired. */
  async #call<T>(work: (client: SecretClient) => Promise<T>): Promise<T> {
    const client = this.#connected();
    try {
      return await work(await client);
    } catch (error) {
      if (!isLogin(error)) throw error;
      if (this.#client === client) this.#client = undefined;
      return await work(await this.#connected());
    }
  }

  #connected(): Promise<SecretClient> {
    this.#client ??= connect(this.#options.vaultUrl, this.#access);
    return this.#client;
  }
}

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error);
  }
}

/** Undefined where what is asked for isn't there. */
async function absent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isStatus(error, 404)) return undefined;
    throw error;
  }
}

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
