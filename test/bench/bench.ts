import { startMariadb } from "../support/mysql/embedded-mariadb.ts";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { startGroupsync } from "./program.ts";

/** One for each benchmark, so that none is slowed down by what another has left to do. Commits are as in production. */
const SERVERS = {
  postgres: () => startPostgres({ durable: true, settings: { max_wal_size: "4GB" } }),
  mysql: () => startMariadb({ durable: true }),
};

/** `npm run bench` runs all benchmarks, and `npm run bench -- backfill` only one. */
const named = process.argv.slice(2);
const wanted = (named.length > 0 ? named : Object.keys(BENCHMARKS)).map((name) => {
  const benchmark = BENCHMARKS[name];
  if (benchmark) return benchmark;
  throw new Error(`there is no benchmark ${name}; there are ${Object.keys(BENCHMARKS).join(", ")}`);
});
for (const benchmark of wanted) {
  const server = await SERVERS[benchmark.server]();
  try {
    await benchmark.run("full", server.url, { groupsync: startGroupsync, print: console.log });
  } finally {
    await server.stop();
  }
}
