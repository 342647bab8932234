import { expect, test } from "vitest";
import type { HeldRemoval } from "../../../src/core/deletion/removals.ts";
import { markHeld } from "../../../src/engine/plan/mark-held.ts";
import { anApplied, anApply } from "../../builders/groups.ts";
import { carryOut, groupsOf, NOW, opened, write } from "../../contracts/ledger/rig.ts";
import { inMemoryPlace } from "../../fakes/ledger/ledger.ts";

const remove = (user_group_id: string): HeldRemoval => ({ kind: "delete", user_group_id });
const replace = (user_group_id: string): HeldRemoval => ({ kind: "replace", user_group_id });

test("the removals that are held now are marked, and no others", async () => {
  const at = await opened(inMemoryPlace);
  for (const user_group_id of ["a", "b", "c", "d", "e", "é", "😀"])
    await carryOut(at, anApplied({ change: anApply({ user_group_id }) }));
  for (const batches of [
    [[remove("a"), replace("b")], [], [remove("d"), remove("😀")]],
    [[remove("b")], [replace("c"), remove("é")]],
    [[remove("e")]],
    [],
  ]) {
    const held = (async function* () {
      yield* batches;
    })();
    await write(at, (transaction) => markHeld(held, at.ledger, transaction, NOW));
    const marked = (await groupsOf(at)).flatMap(({ user_group_id, held: kind }) =>
      kind ? [{ kind, user_group_id }] : [],
    );
    expect(marked).toEqual(batches.flat());
  }
});
