import { Secret } from "../../core/secret/secret.ts";
import { formatMark, isSameMark, type OwnersMark, parseMark } from "../../core/tokens/destination.ts";
import { ownerName, type SecretPath } from "../../core/tokens/secrets.ts";
import { type SecretStore, SecretStoreFailure } from "./secret-store.ts";

const notSeenYet = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "passing",
    `the last change of the secret ${name} doesn't show yet`,
    "the next sync tries again",
  );

/** The owner mark of a path of a secret store: a secret whose name no tenant's secret can have. */
export class SecretOwnerMark {
  readonly name: string;
  readonly #secrets: SecretStore;

  constructor(secrets: SecretStore, path: SecretPath) {
    this.#secrets = secrets;
    this.name = secrets.owner ?? ownerName(path, secrets.naming);
  }

  /** Null if nobody has marked the path. Of another config's mark often only the config's name can be read. */
  async read(): Promise<OwnersMark | null> {
    const found = await this.#secrets.get(this.name);
    if (!found) return null;
    const mark = parseMark(found.content.reveal());
    // Our own mark that can't be parsed is half written, or an older groupsync's: it says no more than no mark.
    if (mark !== null || found.isManaged) return mark;
    return { name: found.scope ?? null, baseUrl: null, teamId: null, ledgerId: null };
  }

  /** Resolves to whether this mark is there afterwards. */
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
    const there = await this.read();
    if (isSameMark(there, mark)) return true;
    // Some stores show a change only after a moment.
    if (isSameMark(there, former)) throw notSeenYet(this.name);
    return false;
  }

  /** Writes this config's mark again as it is. False if there is none. */
  async rewrite(): Promise<boolean> {
    const found = await this.#secrets.get(this.name);
    if (!found?.isManaged) return false;
    await this.#secrets.put(this.name, found.content, (there) => !there.equals(found.content));
    return true;
  }

  /** Removes this mark, and leaves any other. */
  async giveUp(mark: OwnersMark): Promise<void> {
    if (!isSameMark(await this.read(), mark)) return;
    await this.#secrets.remove(this.name);
  }
}
