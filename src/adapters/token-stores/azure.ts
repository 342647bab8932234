import type { DeletedSecret, SecretClient, SecretProperties } from "@azure/keyvault-secrets";
import { Secret } from "../../core/secret.ts";
import { SECRET_NAMING } from "../../core/secret-naming-by-store.ts";
import { failureOf, isDisabled, isLoginFailure, isStatus } from "./azure-failure.ts";
import { type AzureAccess, connect } from "./azure-login.ts";
import { expected } from "./expected.ts";
import { bears, type Marks, marksOf, scopeIn } from "./marks.ts";
import { type FoundSecret, notManaged, type SecretStore, SecretStoreFailure } from "./secret-store.ts";
import { SharedClient } from "./shared-client.ts";

export interface AzureStoreOptions {
  /** Such as `https://NAME.vault.azure.net`. */
  readonly vaultUrl: string;
  /** The config's `name`. */
  readonly scope: string;
}

interface Found {
  readonly isManaged: boolean;
  readonly scope?: string | undefined;
  /** Left out where the newest version is disabled. */
  readonly newest?: { readonly properties: SecretProperties; readonly content: Secret };
}

type Tags = Readonly<Record<string, string>> | undefined;

const POLL = { intervalInMs: 500 };
/** How long the vault may take to delete or to recover a secret, in milliseconds. */
const LONGEST_CHANGE = 30_000;

/** Secrets of Azure's Key Vault, of which the newest version counts; older ones can't be deleted, and are disabled. */
export class AzureStore implements SecretStore {
  readonly naming = SECRET_NAMING.azure_key_vault;
  readonly title: string;
  readonly #tags: Marks;
  readonly #client: SharedClient<SecretClient>;

  constructor(options: AzureStoreOptions, access: AzureAccess = {}) {
    const { vaultUrl, scope } = options;
    this.#client = new SharedClient({ connect: () => connect(vaultUrl, access), isLoginFailure });
    this.#tags = marksOf(scope);
    this.title = `Key Vault at ${vaultUrl}`;
  }

  async prepare(): Promise<void> {
    await this.#call(async (client) => {
      for await (const _ of client.listPropertiesOfSecrets()) return;
    });
  }

  async get(name: string): Promise<FoundSecret | undefined> {
    const found = await this.#find(name);
    if (!found) return undefined;
    if (!found.isManaged) return { content: new Secret(""), isManaged: false, scope: found.scope };
    return found.newest && { content: found.newest.content, isManaged: true };
  }

  /** Key Vault can't make a secret only where there is none: a new one costs a look and a call. */
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

  holdsAny(except?: string): Promise<boolean> {
    return this.#call(async (client) => {
      for await (const { name, tags } of client.listPropertiesOfSecrets())
        if (name !== except && this.#manages(tags)) return true;
      return false;
    });
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #manages(tags: Tags): boolean {
    return bears(tags, this.#tags);
  }

  async #find(name: string): Promise<Found | undefined> {
    const secret = await this.#unless(isStatus(404), (client) =>
      client.getSecret(name).catch(expected(isDisabled, "disabled" as const)),
    );
    if (!secret) return undefined;
    if (secret === "disabled") return { isManaged: await this.#hasManaged(name) };
    const { properties } = secret;
    const { tags } = properties;
    // Each version has its own tags: one that was set by hand in a secret of groupsync's has none.
    const isManaged = this.#manages(tags) || (!tags?.["managed-by"] && (await this.#hasManaged(name)));
    return {
      isManaged,
      scope: scopeIn(tags),
      newest: { properties, content: new Secret(secret.value ?? "") },
    };
  }

  /** Whether any version of the secret is groupsync's. */
  #hasManaged(name: string): Promise<boolean> {
    return this.#call(async (client) => {
      for await (const { tags } of client.listPropertiesOfSecretVersions(name))
        if (this.#manages(tags)) return true;
      return false;
    });
  }

  /** False where the name is taken by a secret that is deleted, or is just being so. */
  async #put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<boolean> {
    const found = await this.#find(name);
    if (found && !found.isManaged) throw notManaged(name);
    const isDone = found?.newest !== undefined && isGood(found.newest.content);
    const newest = isDone ? found.newest.properties : await this.#set(name, content);
    if (!newest) return false;
    if (found) await this.#disableOlder(name, newest);
    return true;
  }

  async #set(name: string, content: Secret): Promise<SecretProperties | undefined> {
    const options = { tags: this.#tags };
    const set = await this.#unless(isStatus(409), (client) =>
      client.setSecret(name, content.reveal(), options),
    );
    return set?.properties;
  }

  /**
   * Their tokens are mostly dead, and who reads an old version by mistake should notice. What fails in passing, or is cut
   * off by the end of this process, is made good when a token is put there again.
   */
  async #disableOlder(name: string, { createdOn: newest = new Date(0) }: SecretProperties): Promise<void> {
    try {
      await this.#call(async (client) => {
        for await (const { enabled, createdOn, version } of client.listPropertiesOfSecretVersions(name)) {
          if (!enabled || !version || !createdOn || createdOn >= newest) continue;
          await client.updateSecretProperties(name, version, { enabled: false });
        }
      });
    } catch (error) {
      if (error instanceof SecretStoreFailure && error.problem !== "unavailable") return;
      throw error;
    }
  }

  #findDeleted(name: string): Promise<DeletedSecret | undefined> {
    return this.#unless(isStatus(404), (client) => client.getDeletedSecret(name));
  }

  async #recover(name: string): Promise<void> {
    const deleted = await this.#findDeleted(name);
    if (!deleted) throw beingChanged(name);
    if (!this.#manages(deleted.properties.tags)) throw deletedByOthers(name);
    await this.#call(async (client) => done(await client.beginRecoverDeletedSecret(name, POLL)));
  }

  #delete(name: string): Promise<DeletedSecret | undefined> {
    return this.#unless(isStatus(404), async (client) => done(await client.beginDeleteSecret(name, POLL)));
  }

  /** A vault that is protected keeps it until its time is over: a `put` brings it back. */
  async #purge({ name, properties: { recoveryLevel } }: DeletedSecret): Promise<void> {
    if (recoveryLevel && !recoveryLevel.includes("Purgeable")) return;
    // It is gone, or on its way.
    await this.#unless(isStatus(404, 409), (client) => client.purgeDeletedSecret(name));
  }

  #unless<T>(isExpected: (error: unknown) => boolean, work: Work<T>): Promise<T | undefined> {
    return this.#call((client) => work(client).catch(expected(isExpected, undefined)));
  }

  async #call<T>(work: Work<T>): Promise<T> {
    try {
      return await this.#client.call(work);
    } catch (error) {
      throw failureOf(error);
    }
  }
}

type Work<T> = (client: SecretClient) => Promise<T>;

interface Change<T> {
  pollUntilDone(options: { abortSignal: AbortSignal }): Promise<T>;
}

const done = <T>(change: Change<T>): Promise<T> =>
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
