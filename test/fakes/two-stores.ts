import { expect } from "vitest";
import { compositeTokenStore } from "../../src/adapters/token-stores/composite-token-store.ts";
import type { SyncPorts } from "../../src/engine/sync.ts";
import type { Instance, Step } from "./instance.ts";
import { InMemoryTokenStore, TokenState } from "./token-store.ts";
import type { VirtualClock } from "./virtual-time.ts";
import { tenants, World } from "./world.ts";

/** A world with two token stores. */
export class TwoStores extends World {
  readonly second = new TokenState();

  override ports(instance: Instance, clock: VirtualClock): Omit<SyncPorts, "observe"> {
    const ports = super.ports(instance, clock);
    const step: Step = (point) => instance.step({ ...point, store: 1 });
    const second = new InMemoryTokenStore(this.second, step, ports.ledger);
    return { ...ports, tokens: compositeTokenStore([ports.tokens, second]) };
  }
}

export async function synced(...ids: string[]): Promise<TwoStores> {
  const world = new TwoStores(tenants(...ids));
  expect(await world.sync()).toMatchObject({ outcome: "ok" });
  world.service.requests.length = 0;
  return world;
}

export const expectBoth = (world: TwoStores): void => {
  expect(world.store.tokens).toEqual(world.service.tokens);
  expect(world.second.tokens).toEqual(world.service.tokens);
};
