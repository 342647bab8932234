import { inject } from "vitest";
import { SERVER_VARIABLES } from "./database-server.ts";
import {
  createDatabase,
  type DatabaseKind,
  type FreshDatabase,
  newPlace,
  openDatabase,
  type Place,
  removeDatabase,
} from "./fresh-database.ts";

/** What many tests find in their database. */
export interface Preparation {
  /** Makes it in an empty database. */
  prepare(database: FreshDatabase): Promise<void>;
  /** Removes what a test has left, as far as tests usually leave something. */
  restore(database: FreshDatabase): Promise<void>;
  /** A text that tells whether there is more or less in the database than `prepare` has made. */
  contents(database: FreshDatabase): Promise<string>;
}

interface Spare extends Place {
  readonly contents: string;
}

/**
 * As `freshDatabase`, but prepared. To prepare a database takes longer than most tests: on the server that the run has started,
 * the next test gets the database of one that has passed, restored. If its contents differ then, it gets another one.
 */
export function reusedDatabases({
  prepare,
  restore,
  contents,
}: Preparation): (kind?: DatabaseKind) => Promise<FreshDatabase> {
  let spares: Spare[] = [];

  async function restored(spare: Spare): Promise<FreshDatabase | undefined> {
    let isSpare = false;
    const database = openDatabase(spare, async () => {
      if (isSpare) spares.push(spare);
      else await removeDatabase(spare);
    });
    // What a test has left may be more than `restore` can remove.
    const restored = restore(database).then(() => contents(database));
    isSpare = (await restored.catch(() => undefined)) === spare.contents;
    return isSpare ? database : undefined;
  }

  async function prepared(kind: DatabaseKind): Promise<FreshDatabase> {
    const place = newPlace(kind);
    let spare: Spare | undefined;
    const database = openDatabase(place, async () => {
      if (spare) spares.push(spare);
      else await removeDatabase(place);
    });
    await createDatabase(database);
    await prepare(database);
    if (!process.env[SERVER_VARIABLES[kind]]) spare = { ...place, contents: await contents(database) };
    return database;
  }

  return async (kind = inject("databaseKind")) => {
    const spare = spares.find((one) => one.kind === kind);
    spares = spares.filter((one) => one !== spare);
    return (spare && (await restored(spare))) ?? (await prepared(kind));
  };
}
