import type { DatabaseKind, FreshDatabase, Row } from "../../support/databases/fresh-database.ts";

/** A column of tokens, and the column of their ids. */
export interface TokenColumn {
  readonly table: string;
  readonly id: string;
  readonly token: string;
}

export const OWN_TOKENS: TokenColumn = { table: "groupsync_tokens", id: "user_group_id", token: "token" };

/**
 * What a trigger does about an UPDATE. `raises`: an error that quotes both tokens. `restores`: it puts the old token
 * back. `skips`: it leaves the row as it is, without an error.
 */
export type Refusal = "raises" | "restores" | "skips";

/** What differs between the kinds of databases. */
interface Words {
  /** A query for the `id` of each session of the program. */
  readonly programSessions: string;
  readonly endSession: (id: string) => string;
  /** What a trigger can do. In MySQL, no trigger can skip a row. */
  readonly refusals: Readonly<Partial<Record<Refusal, (token: string) => string>>>;
  readonly createTrigger: (table: string, body: string) => string;
  readonly dropTrigger: (table: string) => string;
}

const WORDS: Readonly<Record<DatabaseKind, Words>> = {
  postgres: {
    programSessions: `SELECT pid AS id FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'groupsync:%'`,
    endSession: (id) => `SELECT pg_terminate_backend(${id})`,
    refusals: {
      raises: (token) => `RAISE EXCEPTION '% gives no way to %', OLD.${token}, NEW.${token};`,
      restores: (token) => `NEW.${token} := OLD.${token};`,
      skips: () => "RETURN NULL;",
    },
    createTrigger: (table, body) =>
      `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$;
       CREATE TRIGGER refuse BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`,
    dropTrigger: (table) => `DROP TRIGGER refuse ON ${table}`,
  },
  mysql: {
    // MySQL's list doesn't name programs: every session but the test's own is the program's.
    programSessions:
      "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()",
    endSession: (id) => `KILL ${id}`,
    refusals: {
      raises: (token) =>
        `SET @message = concat(OLD.${token}, ' gives no way to ', NEW.${token});
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = @message;`,
      restores: (token) => `SET NEW.${token} = OLD.${token};`,
    },
    createTrigger: (table, body) =>
      `CREATE TRIGGER refuse BEFORE UPDATE ON ${table} FOR EACH ROW BEGIN ${body} END`,
    dropTrigger: () => "DROP TRIGGER refuse",
  },
};

/** The sessions of the program in the database, including sessions that a killed program has left behind. */
export async function programSessions(database: FreshDatabase): Promise<string[]> {
  const rows = await database.query<Row & { id: unknown }>(WORDS[database.kind].programSessions);
  return rows.map(({ id }) => String(id));
}

export async function endProgramSessions(database: FreshDatabase): Promise<void> {
  for (const id of await programSessions(database)) {
    // MySQL raises an error if the session has ended meanwhile.
    await database.query(WORDS[database.kind].endSession(id)).catch(() => {});
  }
}

/** The refusals that are possible in this kind of database. */
export const refusalsOf = (kind: DatabaseKind): Refusal[] => Object.keys(WORDS[kind].refusals) as Refusal[];

/** Makes a trigger that refuses every update of a row, or only a new token of one group. */
export async function refuseTokens(
  { kind, query }: FreshDatabase,
  { table, id, token }: TokenColumn,
  refusal: Refusal,
  newTokenOf?: string,
): Promise<void> {
  const { refusals, createTrigger } = WORDS[kind];
  const refuse = refusals[refusal]?.(token);
  if (refuse === undefined) throw new Error(`no trigger of ${kind} ${refusal}`);
  const isNew = `NEW.${id} = '${newTokenOf}' AND OLD.${token} <> NEW.${token}`;
  await query(createTrigger(table, newTokenOf === undefined ? refuse : `IF ${isNew} THEN ${refuse} END IF;`));
}

/** Drops the trigger. */
export async function acceptTokens({ kind, query }: FreshDatabase, { table }: TokenColumn): Promise<void> {
  await query(WORDS[kind].dropTrigger(table));
}
