import { setTimeout as sleep } from "node:timers/promises";
import type { Tenants } from "./tenants.ts";

/** In milliseconds. */
const LONGEST_WAIT = 120_000;
const POLL_MS = 20;

/**
 * Inserts these tenants one by one, each at a random moment of its part of the time, and calls `ask` for each of them once
 * its INSERT is committed. Resolves with the times from commit to token, in milliseconds.
 */
export async function timeInserts(
  ids: readonly string[],
  tenants: Tenants,
  { insertsPerSecond }: { readonly insertsPerSecond: number },
  ask: ((id: string) => Promise<void>) | undefined,
): Promise<readonly number[]> {
  const committedAt = new Map<string, number>();
  const asking: Promise<void>[] = [];
  const part = 1_000 / insertsPerSecond;
  const startedAt = performance.now();
  for (const [index, id] of ids.entries()) {
    await sleep(startedAt + (index + Math.random()) * part - performance.now());
    await tenants.insert([id]);
    committedAt.set(id, performance.now());
    const asked = ask?.(id) ?? Promise.resolve();
    // It is awaited once all are inserted.
    asked.catch(() => {});
    asking.push(asked);
  }
  await Promise.all(asking);
  await until(() => ids.every((id) => tenants.seenAt.has(id)), "a tenant has no token");
  return ids.map((id) => (tenants.seenAt.get(id) ?? Number.NaN) - (committedAt.get(id) ?? Number.NaN));
}

export async function until(condition: () => boolean, otherwise: string): Promise<void> {
  const startedAt = performance.now();
  while (!condition()) {
    if (performance.now() - startedAt > LONGEST_WAIT) throw new Error(otherwise);
    await sleep(POLL_MS);
  }
}
