import type { RowDataPacket } from "mysql2";
import type { Connection } from "mysql2/promise";

/** A row of SHOW PROCESSLIST, without the statement's text, which may hold secrets. */
export interface Process {
  readonly Id: number | string;
  readonly User: string;
  readonly Host: string;
  readonly db: string | null;
  readonly Command: string;
  readonly Time: number | string | null;
  readonly State: string | null;
}

interface Held extends RowDataPacket {
  readonly id: number | string;
  readonly lock: string;
}

/**
 * Who holds the lock that a session waits for: a table's lock, a row's lock, or a lock in MariaDB's own list. That list
 * needs a plugin, and doesn't say who waits for which lock. Not every server has these tables, and not every user may
 * read them.
 */
const QUESTIONS = [
  `SELECT DISTINCT blocking_pid AS id, CONCAT(blocking_lock_type, ' on ', object_schema, '.', object_name) AS "lock"
   FROM sys.schema_table_lock_waits WHERE waiting_pid = ? AND blocking_pid <> waiting_pid`,
  `SELECT DISTINCT blocking_pid AS id, CONCAT('a row lock in ', locked_table) AS "lock"
   FROM sys.innodb_lock_waits WHERE waiting_pid = ?`,
  `SELECT DISTINCT thread_id AS id, CONCAT_WS(' ', lock_mode, 'of', lock_type, table_schema, table_name) AS "lock"
   FROM information_schema.metadata_lock_info
   WHERE thread_id <> ? AND lock_mode NOT IN ('MDL_SHARED_READ', 'MDL_SHARED', 'MDL_INTENTION_EXCLUSIVE')`,
].map((text) => text.replaceAll('"lock"', "`lock`"));

const SHOWN = 3;
const WAITING = /^Waiting for .*(lock|flush)|^User lock$/i;

/**
 * Who keeps the session `ours` waiting, in words; undefined if the server shows no lock that this session waits for.
 */
export async function lockHolders(
  connection: Connection,
  ours: Process,
  processes: readonly Process[],
): Promise<string | undefined> {
  for (const question of QUESTIONS) {
    const held = await connection.query<Held[]>(question, [ours.Id]).then(
      ([rows]) => rows,
      () => [],
    );
    // The last list names all holders of locks: it concerns only a session that waits for a lock.
    const isSure = question !== QUESTIONS.at(-1) || isWaiting(ours);
    if (held.length > 0 && isSure) return `held by ${held.slice(0, SHOWN).map(text).join("; ")}`;
  }
  if (!isWaiting(ours)) return undefined;
  // Name sessions that have waited for longer first: an ALTER TABLE that waits for a transaction locks out all others.
  const isInFront = (listed: Process): boolean => !isWaiting(listed) || secondsOf(listed) > secondsOf(ours);
  const candidates = processes
    .filter((listed) => listed.Id !== ours.Id && isInFront(listed) && isOfUser(listed))
    .toSorted((a, b) => rank(b) - rank(a) || secondsOf(b) - secondsOf(a));
  // Keep one place for others, and the rest for sessions in the same database: neither may hide the other.
  const near = candidates.filter(({ db }) => db === ours.db).slice(0, SHOWN - 1);
  const others = [...near, ...candidates.filter((listed) => !near.includes(listed))].slice(0, SHOWN);
  const state = ours.State ?? "waiting for a lock";
  if (others.length === 0) return `${state}: this user may not see who holds it`;
  return `${state}: the server doesn't tell who holds it; it may be ${others.map(processText).join(" or ")}`;

  function rank(listed: Process): number {
    return 2 * Number(isWaiting(listed)) + Number(listed.db === ours.db);
  }

  function text({ id, lock }: Held): string {
    const listed = processes.find((one) => Number(one.Id) === Number(id));
    return `${listed ? processText(listed) : `session ${id}`}: ${lock}`;
  }
}

const isWaiting = ({ State }: Process): boolean => WAITING.test(State ?? "");

const isOfUser = ({ Command, User }: Process): boolean =>
  !["Daemon", "Binlog Dump", "Binlog Dump GTID"].includes(Command) &&
  !["system user", "event_scheduler"].includes(User);

const secondsOf = ({ Time }: Process): number => Number(Time ?? 0);

function processText(listed: Process): string {
  const { Id, User, Host, Command } = listed;
  const waiting = isWaiting(listed) ? ", and waits itself" : "";
  return `session ${Id} (user ${User} at ${Host}, ${Command} for ${secondsOf(listed)} s${waiting})`;
}
