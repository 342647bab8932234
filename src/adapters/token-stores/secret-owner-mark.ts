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
export function secretOwnerMark(secrets: SecretStore, path: SecretPath) {
  const name = secrets.owner ?? ownerName(path, secrets.naming);

  /** Null if nobody has marked the path. Of another config's mark often only the config's name can be read. */
  async function read(): Promise<OwnersMark | null> {
    const found = await secrets.get(name);
    if (!found) return null;
    const mark = parseMark(found.content.reveal());
    // Our own mark that can't be parsed is half written, or an older groupsync's: it says no more than no mark.
    if (mark !== null || found.isManaged) return mark;
    return { name: found.scope ?? null, baseUrl: null, teamId: null, ledgerId: null };
  }

  return {
    name,
    read,
    /** Resolves to whether this mark is there afterwards. */
    async write(mark: OwnersMark, former: OwnersMark | null): Promise<boolean> {
      const isAnothers = (found: Secret): boolean => {
        const there = parseMark(found.reveal());
        return there !== null && !isSameMark(there, former);
      };
      try {
        await secrets.put(name, new Secret(formatMark(mark)), isAnothers);
      } catch (error) {
        const isTaken = error instanceof SecretStoreFailure && error.problem === "refused";
        if (!isTaken || (await read()) === null) throw error;
      }
      const there = await read();
      if (isSameMark(there, mark)) return true;
      // Some stores show a change only after a moment.
      if (isSameMark(there, former)) throw notSeenYet(name);
      return false;
    },
    /** Writes this config's mark again as it is. False if there is none. */
    async rewrite(): Promise<boolean> {
      const found = await secrets.get(name);
      if (!found?.isManaged) return false;
      await secrets.put(name, found.content, (there) => !there.equals(found.content));
      return true;
    },
    /** Removes this mark, and leaves any other. */
    async giveUp(mark: OwnersMark): Promise<void> {
      if (!isSameMark(await read(), mark)) return;
      await secrets.remove(name);
    },
  };
}

export type SecretOwnerMark = ReturnType<typeof secretOwnerMark>;
