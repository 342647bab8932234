import type { RunId, RunResult } from "../../ports/ledger.ts";
import type { LedgerPlace } from "./ledger-place.ts";
import { storable } from "./storable.ts";

/** So many runs stay, however old they are: where nothing has run for long, they tell how things were. */
const LEAST_RUNS = 10;

/** Removals are kept longer than any limit asks for: they are also the record of what was deleted when. */
const KEPT_REMOVALS = 90;
/** Which token was live when is asked after an incident, and that may be found late. */
const KEPT_TOKENS = 365;

/** Begins a run, and forgets what is too old: runs when `historyMs` have gone by since they began, but the last ones. */
export async function startRun(
  { connection, tables, scope }: LedgerPlace,
  command: string,
  now: Date,
  historyMs: number,
): Promise<RunId> {
  const { runs, removals, formerTokens } = tables;
  const [oldestOfLast] = await connection.query<{ id: string }>(
    `SELECT id FROM ${runs} WHERE scope = $1 ORDER BY id DESC LIMIT 1 OFFSET ${LEAST_RUNS - 1}`,
    [scope],
  );
  if (oldestOfLast) {
    await connection.query(`DELETE FROM ${runs} WHERE scope = $1 AND started_at < $2 AND id < $3`, [
      scope,
      new Date(now.getTime() - historyMs),
      oldestOfLast.id,
    ]);
  }
  await connection.query(`DELETE FROM ${removals} WHERE scope = $1 AND removed_at < $2`, [
    scope,
    daysBefore(now, KEPT_REMOVALS),
  ]);
  await connection.query(`DELETE FROM ${formerTokens} WHERE scope = $1 AND live_until < $2`, [
    scope,
    daysBefore(now, KEPT_TOKENS),
  ]);
  await connection.query(`INSERT INTO ${runs} (scope, command, started_at) VALUES ($1, $2, $3)`, [
    scope,
    command,
    now,
  ]);
  // Nobody else starts one while the lease is held.
  const [started] = await connection.query<{ id: string }>(
    `SELECT max(id) AS id FROM ${runs} WHERE scope = $1`,
    [scope],
  );
  return started?.id ?? "";
}

export async function finishRun(
  { connection, tables }: LedgerPlace,
  run: RunId,
  { outcome, counts, requests, error }: RunResult,
  now: Date,
): Promise<void> {
  const message = error === null ? null : storable(error.message);
  await connection.query(
    `UPDATE ${tables.runs}
       SET finished_at = $2, outcome = $3, counts = $4, requests = $5, error_code = $6, error_message = $7
       WHERE id = $1`,
    [run, now, outcome, JSON.stringify(counts), requests, error?.code ?? null, message],
  );
}

export async function discardRun({ connection, tables }: LedgerPlace, run: RunId): Promise<void> {
  await connection.query(`DELETE FROM ${tables.runs} WHERE id = $1`, [run]);
}

const daysBefore = (time: Date, days: number): Date => new Date(time.getTime() - days * 86_400_000);
