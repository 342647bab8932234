import { createHash } from "node:crypto";
import mysql from "mysql2/promise";
import pg from "pg";
import { groupOf, serviceOf } from "./ask.mjs";

/**
 * Asks for N groups as loop.mjs does, and stores of each what a crash must not lose: an intent before the call; after the
 * call the token, and the group with two hashes, in one transaction. It has no lease, no index but the key, no checks and no
 * retries: a plain program that keeps the same promises. Prints groups per second. Usage: storing-loop.mjs BASE_URL API_KEY
 * REQUESTS CONCURRENCY DATABASE_URL
 */
const [baseUrl = "", apiKey = "", requests, concurrency, databaseUrl = ""] = process.argv.slice(2);
const total = Number(requests);
const connections = Number(concurrency);
// The sizes of groupsync's transactions.
const FIRST_INTENTS = 8;
const MOST_INTENTS = 512;
const MOST_OUTCOMES = 256;
const GATHER_MS = 100;

const isPostgres = databaseUrl.startsWith("postgres");
const [ofIntents, ofOutcomes] = await Promise.all([connect(), connect()]);
const id = isPostgres ? 'id text COLLATE "C" PRIMARY KEY' : "id varbinary(512) PRIMARY KEY";
await ofIntents.query(`CREATE TABLE bare_tokens (${id}, token text)`);
await ofIntents.query(
  `CREATE TABLE bare_groups (${id}, intent text, content text, fingerprint text, token_fingerprint text)`,
);

const startedAt = performance.now();
const service = serviceOf(baseUrl, apiKey, connections, { reset: false });
let next = 0;
let intended = 0;
let chunk = FIRST_INTENTS;
let intending;
let recording;
let endGathering = () => {};
const answered = [];
await Promise.all(
  Array.from({ length: connections }, async () => {
    while (next < total) {
      const i = next++;
      if (i + chunk >= intended) intending ??= intend();
      while (i >= intended) {
        intending ??= intend();
        await intending;
      }
      const group = groupOf(i);
      answered.push([group, await service.ask(group)]);
      if (answered.length >= MOST_OUTCOMES) endGathering();
      recording ??= record();
      while (answered.length >= 2 * MOST_OUTCOMES) await recording;
    }
  }),
);
endGathering();
while (recording) await recording;
console.log((total * 1000) / (performance.now() - startedAt));
await Promise.all([service.close(), ofIntents.end(), ofOutcomes.end()]);

/** Commits the next chunk of intents, ahead of the calls. */
async function intend() {
  const count = Math.min(chunk, total - intended);
  const rows = Array.from({ length: count }, (_, n) => [groupOf(intended + n).user_group_id, "apply"]);
  if (count > 0) await ofIntents.upsert("bare_groups", ["id", "intent"], rows);
  intended += count;
  chunk = Math.min(8 * chunk, MOST_INTENTS);
  intending = undefined;
}

/** Commits what has been answered, once there is much of it or some time has passed. */
async function record() {
  if (answered.length < MOST_OUTCOMES && next < total) {
    await new Promise((resolve) => {
      endGathering = resolve;
      setTimeout(resolve, GATHER_MS);
    });
  }
  const batch = answered.splice(0, MOST_OUTCOMES);
  await ofOutcomes.query("BEGIN");
  await ofOutcomes.upsert(
    "bare_tokens",
    ["id", "token"],
    batch.map(([group, token]) => [group.user_group_id, token]),
  );
  await ofOutcomes.upsert(
    "bare_groups",
    ["id", "intent", "content", "fingerprint", "token_fingerprint"],
    batch.map(([group, token]) => {
      const content = JSON.stringify(group);
      return [group.user_group_id, null, content, hashOf(content), hashOf(token)];
    }),
  );
  await ofOutcomes.query("COMMIT");
  recording = answered.length > 0 ? record() : undefined;
}

function hashOf(text) {
  return createHash("sha256").update(text).digest("base64url");
}

/** A connection with an upsert of many rows, whose first column is the key. */
async function connect() {
  const set = (columns, value) => columns.slice(1).map((name) => `${name} = ${value(name)}`);
  if (isPostgres) {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    return {
      query: (text) => client.query(text),
      upsert: (table, columns, rows) =>
        client.query(
          `INSERT INTO ${table} (${columns}) SELECT * FROM unnest(${columns.map((_, n) => `$${n + 1}::text[]`)})
           ON CONFLICT (id) DO UPDATE SET ${set(columns, (name) => `excluded.${name}`)}`,
          columns.map((_, n) => rows.map((row) => row[n])),
        ),
      end: () => client.end(),
    };
  }
  const connection = await mysql.createConnection(databaseUrl);
  return {
    query: (text) => connection.query(text),
    upsert: (table, columns, rows) =>
      connection.query(
        `INSERT INTO ${table} (${columns}) VALUES ? ON DUPLICATE KEY UPDATE ${set(columns, (name) => `VALUES(${name})`)}`,
        [rows],
      ),
    end: () => connection.end(),
  };
}
