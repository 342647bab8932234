import { Secret } from "../../core/secret/secret.ts";
import { notManaged, type SecretStore, SecretStoreFailure } from "./secret-store.ts";

/** A secret as a vendor's client finds it. */
export interface VendorSecret {
  /** Whether its tags, labels or metadata say that it is this config's. */
  readonly isManaged: boolean;
  /** The config that they name. */
  readonly scope?: string | undefined;
  /** If it is being deleted: what an operator can do about that. */
  readonly leaving?: string | undefined;
  /** Whether its content may be read even if somebody else manages it. By default it may not: that is often forbidden. */
  readonly isOpen?: true;
  /** Undefined if it has no value that can be read, such as after a crash. */
  readonly content: () => Promise<Secret | undefined>;
}

/** What one vendor's client can do with secrets that have tags. All methods reject as those of {@link SecretStore} do. */
export interface VendorSecrets<Found extends VendorSecret>
  extends Pick<SecretStore, "title" | "naming" | "close">,
    Partial<Pick<SecretStore, "inspect">> {
  find(name: string): Promise<Found | undefined>;
  /**
   * Makes a secret with this config's tags, or resolves to the one that has the name. Undefined if the vendor shows neither:
   * it may follow its own changes later.
   */
  create(name: string, content: Secret, groupId: string | undefined): Promise<"created" | Found | undefined>;
  /** False if the secret has changed since it was found. */
  replace(name: string, found: Found, content: Secret, groupId: string | undefined): Promise<boolean>;
  /** False if the secret has changed since it was found, or if its name isn't free yet. */
  remove(name: string, found: Found): Promise<boolean>;
  /** Frees the name of a secret that is not found any more, if the vendor still keeps it. */
  purge?(name: string): Promise<void>;
}

/** A store whose secrets have tags: only those with this config's tags are read, changed and removed. */
export function taggedStore<Found extends VendorSecret>(vendor: VendorSecrets<Found>): SecretStore {
  return {
    naming: vendor.naming,
    get title() {
      return vendor.title;
    },
    async inspect() {
      await vendor.inspect?.();
    },
    async get(name) {
      const found = await vendor.find(name);
      if (!found || found.leaving) return undefined;
      const { isManaged, isOpen, scope } = found;
      const content = isManaged || isOpen ? await found.content() : new Secret("");
      return content && { content, isManaged, scope };
    },
    async put(name, content, isGood, groupId) {
      const found = await vendor.create(name, content, groupId);
      if (found === "created") return;
      if (!found) throw inChange(name);
      if (!found.isManaged) throw notManaged(name);
      if (found.leaving) throw beingDeleted(name, found.leaving);
      const present = await found.content();
      if (present && isGood(present)) return;
      if (!(await vendor.replace(name, found, content, groupId))) throw inChange(name);
    },
    async remove(name) {
      const found = await vendor.find(name);
      if (!found) return vendor.purge?.(name);
      if (!found.isManaged) throw notManaged(name);
      if (!(await vendor.remove(name, found))) throw inChange(name);
    },
    close: () => vendor.close(),
  };
}

const inChange = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "passing",
    `the secret ${name} is being made, changed or removed`,
    "some stores take a moment for that, or somebody else writes it; the next sync tries again",
  );

/** The failure for a secret whose deletion doesn't end by itself. */
export const beingDeleted = (name: string, hint: string): SecretStoreFailure =>
  new SecretStoreFailure("refused", `the secret ${name} is being deleted`, hint);
