import { expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { TokenKeeper } from "../../src/engine/token-keeper.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { Instance } from "../fakes/instance.ts";
import { VirtualClock } from "../fakes/virtual-time.ts";
import { World } from "../fakes/world.ts";

it("writes no token after it stood still for so long that another instance may have taken over", async () => {
  const world = new World();
  const clock = new VirtualClock(world.time);
  const { ledger, tokens } = world.ports(new Instance(), clock);
  const attempt = await ledger.acquireLease("this", 3_600_000);
  if (attempt.kind === "held") throw new Error("it is nobody's");
  const lease = {
    ...attempt.lease,
    lost: new AbortController().signal,
    assertHeld: () => {},
    awaitAlways: <T>(task: Promise<T>) => task,
  };
  const seen: string[] = [];
  let pauses = 1;
  const slow: Pick<Ledger, "write"> = {
    write: (held, body) =>
      ledger.write(held, async (transaction) => {
        if (pauses-- > 0) await world.time.sleep(40_000);
        return body(transaction);
      }),
  };
  const keeper = new TokenKeeper({
    ledger: { ...ledger, write: slow.write } as Ledger,
    tokens,
    lease,
    clock,
    observe: (event) => seen.push(`${event.kind}: ${world.store.tokens.size} stored`),
  });
  await keeper.store({ user_group_id: "a", token: new Secret("new") }, async () => {});
  expect(seen).toEqual(["unstored: 0 stored"]);
  expect(world.store.tokens.get("a")).toBe("new");
});
