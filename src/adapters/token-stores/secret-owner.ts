import { formatMark, isSameMark, type OwnersMark, parseMark } from "../../core/owners-mark.ts";
import { Secret } from "../../core/secret.ts";
import { ownerName, type SecretPath } from "../../core/secret-name.ts";
import { type SecretStore, SecretStoreFailure } from "./secret-store.ts";

/** The owner's mark of a path of a secret store: a secret of its own, that no tenant's can be. */
export class SecretOwner {
  readonly name: string;
  readonly #secrets: SecretStore;

  constructor(secrets: SecretStore, path: SecretPath) {
    this.#secrets = secrets;
    this.name = secrets.owner ?? ownerName(path, secrets.naming);
  }

  /** Null where nobody has marked it. Of what another config manages, often nothing but its name can be read. */
  async read(): Promise<OwnersMark | null> {
    const found = await this.#secrets.get(this.name);
    if (!found) return null;
    const mark = parseMark(found.content.reveal());
    // One of ours that is half written, or of an older groupsync, says no more than none.
    if (mark !== null || found.isManaged) return mark;
    return { name: found.scope ?? null, baseUrl: null, teamId: null, ledgerId: null };
  }

  /** Whether this mark is there afterwards. */
  async write(mark: OwnersMark, former: OwnersMark | null): Promise<boolean> {
    const isAnothers = (found: Secret): boolean => {
      const there = parseMark(found.reveal());
      return there !== null && !isSameMark(there, former);
    };
    try {
      await this.#secrets.put(this.name, new Secret(formatMark(mark)), isAnothers);
    } catch (error) {
      const isTaken = error instanceof SecretStoreFailure && error.problem === "refused";
      if (!isTaken || (await this.read()) === null) throw error;
    }
    return isSameMark(await this.read(), mark);
  }
}
