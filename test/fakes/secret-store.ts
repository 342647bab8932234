import {
  type FoundSecret,
  notManaged,
  type SecretStore,
  SecretStoreFailure,
} from "../../src/adapters/token-stores/secret-store.ts";
import type { Secret } from "../../src/core/secret/secret.ts";
import { SECRET_NAMING } from "../../src/core/tokens/secrets.ts";

export type SecretCall = "get" | "put" | "remove";

/** Called before a call takes effect; may reject as the store would, or resolve late. */
export type AtCall = (call: SecretCall, name: string) => void | Promise<void>;

export class InMemorySecretStore implements SecretStore {
  readonly title = "the secrets";
  readonly naming = SECRET_NAMING.vault;
  readonly secrets = new Map<string, FoundSecret>();
  /** The secrets that were created or changed, in order. */
  readonly written: string[] = [];
  /** Whether this content is refused. */
  refuses = (_content: Secret): boolean => false;
  keeps = (_content: Secret): boolean => false;
  atCall: AtCall = () => {};

  async inspect(): Promise<void> {}

  async get(name: string): Promise<FoundSecret | undefined> {
    await this.#step("get", name);
    return this.secrets.get(name);
  }

  async put(name: string, content: Secret, isGood: (found: Secret) => boolean): Promise<void> {
    await this.#step("put", name);
    const found = this.#ours(name);
    if (found && isGood(found.content)) return;
    if (this.refuses(content)) throw new SecretStoreFailure("refused", "no room for it", "make room");
    this.secrets.set(name, { content, isManaged: true });
    this.written.push(name);
  }

  async remove(name: string): Promise<void> {
    await this.#step("remove", name);
    const found = this.#ours(name);
    if (found && this.keeps(found.content)) throw new SecretStoreFailure("refused", "it is stuck", "pull");
    this.secrets.delete(name);
  }

  async close(): Promise<void> {}

  #ours(name: string): FoundSecret | undefined {
    const found = this.secrets.get(name);
    if (found && !found.isManaged) throw notManaged(name);
    return found;
  }

  async #step(call: SecretCall, name: string): Promise<void> {
    await this.atCall(call, name);
  }
}
