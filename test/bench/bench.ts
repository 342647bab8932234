import { startMariadb } from "../support/mysql/embedded-mariadb.ts";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import { BENCHMARKS } from "./benchmarks.ts";

/** One for each benchmark, so that none is slowed down by what another has left to do. Commits are as in production. */
const SERVERS = {
  postgres: () => startPostgres({ durable: true, settings: { max_wal_size: "4GB" } }),
  mysql: () => startMariadb({ durable: true }),
};

/**
 * `npm run bench` runs all benchmarks, and `npm run bench -- instant` those whose name is `instant` or begins with `instant-`:
 * the same on each database.
 */
const named = process.argv.slice(2);
const isOf = (key: string, name: string): boolean => key === name || key.startsWith(`${name}-`);
const keys = Object.keys(BENCHMARKS);
const unknown = named.find((name) => !keys.some((key) => isOf(key, name)));
if (unknown !== undefined) throw new Error(`there is no benchmark ${unknown}; there are ${keys.join(", ")}`);
const wanted = Object.entries(BENCHMARKS)
  .filter(([key]) => named.length === 0 || named.some((name) => isOf(key, name)))
  .map(([, benchmark]) => benchmark);
for (const benchmark of wanted) {
  const server = await SERVERS[benchmark.server]();
  try {
    await benchmark.run("full", server.url, console.log);
  } finally {
    await server.stop();
  }
}
