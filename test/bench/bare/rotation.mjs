import pg from "pg";
import { serviceOf } from "./ask.mjs";

/**
 * Rotates groups of its own one after the other, and stores each new token with one UPDATE that commits by itself: no
 * ledger, no lease, no proof of the token store. Runs in its own process: like the program's commits, its commits
 * follow right after an answer. Prints how long each UPDATE took, in milliseconds, as JSON. Usage: rotation.mjs
 * BASE_URL API_KEY DATABASE_URL GROUPS
 */
const [baseUrl = "", apiKey = "", databaseUrl = "", groups] = process.argv.slice(2);
const service = serviceOf(baseUrl, apiKey, 1, { reset: false });
const database = new pg.Client(databaseUrl);
await database.connect();
await database.query(
  "CREATE TABLE IF NOT EXISTS bare_tokens (user_group_id text PRIMARY KEY, token text NOT NULL, updated_at timestamptz)",
);

const tokens = new Map();
for (let i = 0; i < Number(groups); i++) {
  const id = `bare-${i}`;
  const token = await service.ask({ user_group_id: id, name: id, mapping: {}, properties: {} });
  tokens.set(id, token);
  await database.query(
    `INSERT INTO bare_tokens VALUES ($1, $2, now())
     ON CONFLICT (user_group_id) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at`,
    [id, token],
  );
}

const times = [];
for (const [id, current_token] of tokens) {
  const token = await service.ask({ current_token }, "POST");
  const startedAt = performance.now();
  await database.query("UPDATE bare_tokens SET token = $2, updated_at = now() WHERE user_group_id = $1", [
    id,
    token,
  ]);
  times.push(performance.now() - startedAt);
}
console.log(JSON.stringify(times));
await database.end();
await service.close();
