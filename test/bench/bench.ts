import { benchBackfill } from "./backfill.ts";
import { benchMariadb, benchPostgres } from "./databases.ts";
import { benchExposure } from "./exposure.ts";
import { benchStart } from "./start.ts";
import { benchThrottle } from "./throttle.ts";
import { benchUnchanged } from "./unchanged.ts";

/** `npm run bench`, or with the name of one: `npm run bench -- backfill`. */
const benches: Record<string, () => Promise<void>> = {
  backfill: benchBackfill,
  unchanged: () => benchUnchanged(benchPostgres),
  "unchanged-mariadb": () => benchUnchanged(benchMariadb),
  exposure: benchExposure,
  throttle: benchThrottle,
  start: benchStart,
};

const wanted = process.argv.slice(2);
for (const name of wanted.length > 0 ? wanted : Object.keys(benches)) {
  const bench = benches[name];
  if (!bench) throw new Error(`there is no benchmark ${name}; there are ${Object.keys(benches).join(", ")}`);
  await bench();
}
