import type { RowDataPacket } from "mysql2";
import type { Connection } from "mysql2/promise";

/** A row of SHOW PROCESSLIST, without the statement's text, which may hold secrets. */
interface Process extends RowDataPacket {
  readonly Id: number | string;
  readonly User: string;
  readonly Host: string;
  readonly db: string | null;
  readonly Command: string;
  readonly Time: number | string | null;
  readonly State: string | null;
}

/** Who holds the row or the table that a session waits for. */
const HOLDERS = `SELECT blocking_pid AS id FROM sys.innodb_lock_waits WHERE waiting_pid = ?
  UNION SELECT blocking_pid FROM sys.schema_table_lock_waits WHERE waiting_pid = ? AND blocking_pid <> waiting_pid`;

const WAITING = /^Waiting for .*(lock|flush)|^User lock$/i;
const MOST_GUESSES = 4;

/** Who keeps the session with this id waiting, in words. Empty if the server shows no lock that the session waits for. */
export async function lockHolders(connection: Connection, id: number): Promise<string> {
  const [[me]] = await connection.query<RowDataPacket[]>("SELECT CONNECTION_ID() AS id");
  const [processes] = await connection.query<Process[]>("SHOW PROCESSLIST");
  const ours = processes.find((one) => Number(one.Id) === id);
  // Not every server has these views, and not every user may read them.
  const held = await connection.query<RowDataPacket[]>(HOLDERS, [id, id]).then(
    ([rows]) => rows.map((row) => Number(row.id)),
    () => [],
  );
  if (held.length > 0) {
    const texts = held.map((holder) => {
      const listed = processes.find((one) => Number(one.Id) === holder);
      return listed ? processText(listed) : `session ${holder}`;
    });
    return `held by ${texts.join("; ")}`;
  }
  if (!ours || !WAITING.test(ours.State ?? "")) return "";
  const others = processes
    .filter((other) => other.db === ours.db && ![id, Number(me?.id)].includes(Number(other.Id)))
    .toSorted((a, b) => Number(b.Time) - Number(a.Time))
    .slice(0, MOST_GUESSES);
  if (others.length === 0) return `${ours.State}: this user may not see who holds it`;
  return `${ours.State}: the server doesn't tell who holds it; it may be ${others.map(processText).join(" or ")}`;
}

const processText = ({ Id, User, Host, Command, Time }: Process): string =>
  `session ${Id} (user ${User} at ${Host}, ${Command} for ${Number(Time)} s)`;
