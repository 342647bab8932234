import { knownGroup } from "../../src/core/record/candidates.ts";
import { isUnsettled, mayFail, oneSync, untilNextTries } from "./after-faults.ts";
import { LEASE_MS } from "./config.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import { outOfSync } from "./sync-checks.ts";

const DAY = 86_400_000;

/**
 * Somebody restores a backup of the ledger's database, on another server, and no process lives that knows better. The first sync
 * that ends well has stored every live token: the watch checks that of each. Here the syncs have to come so far, or say why not.
 */
export async function checkAfterRewind(world: SimulatedWorld, restore: () => void): Promise<void> {
  const { time, watch, config } = world;
  restore();
  watch.knowsTheLedger = false;
  watch.wishes.forget();
  await time.sleep(LEASE_MS + DAY);
  const command = { name: "sync", only: null, approves: false, verifies: false, refreshes: false } as const;
  let last: Awaited<ReturnType<typeof oneSync>>;
  for (let times = 0; times < 4 && last?.outcome !== "ok"; times++) {
    await time.sleep(config.deletion.gracePeriodMs);
    await untilNextTries(world);
    last = await oneSync(world, command, true);
  }
  const named = new Set(last?.errors.map(({ user_group_id }) => user_group_id));
  for (const { user_group_id: id, code, message } of last?.errors ?? [])
    if (id !== null && !mayFail(id, code, world) && code !== "IN_DOUBT" && !isBeyondSync(id, code, world))
      watch.breach(`14: after a rewind ${id} fails: ${code} ${message}`);
  const others = [...world.visibleRows()].filter(([id]) => !named.has(id) && !world.isExcused(id));
  for (const complaint of outOfSync(others, config, world)) watch.breach(`14: after a rewind ${complaint}`);
}

/**
 * Nobody may ask the service for the group: no answer has told its state, and its tenant has no row to send, or with
 * `service.update: never` none that may change it.
 */
function isBeyondSync(id: string, code: string, world: SimulatedWorld): boolean {
  const record = world.ledger.rows.get(id);
  const isUnknown = record !== undefined && knownGroup(record) === null;
  const maySend = world.visibleRows().get(id)?.kind === "active" && world.config.update !== "never";
  return (code === "TOKEN_NOT_EVERYWHERE" && isUnknown && !maySend) || isUnsettled(id, world);
}
