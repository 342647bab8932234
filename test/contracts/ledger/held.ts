import { describe, expect, test } from "vitest";
import type { HeldRemoval } from "../../../src/core/deletion/removals.ts";
import { anApplied, anApply } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { begin, groupsOf, hold, type LedgerPlace, type Opened, opened, take } from "./rig.ts";

const remove = (user_group_id: string): HeldRemoval => ({ kind: "delete", user_group_id });
const replace = (user_group_id: string): HeldRemoval => ({ kind: "replace", user_group_id });

export function ledgerHeldContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: held groups`, () => {
    const heldIn = async (at: Opened): Promise<HeldRemoval[]> =>
      (await groupsOf(at)).flatMap(({ user_group_id, held }) =>
        held ? [{ kind: held, user_group_id }] : [],
      );

    test("are the groups marked last, and no others", async () => {
      const at = await opened(makePlace);
      const changes = ["a", "b", "c", "d", "e", "é", "😀"].map((id) => anApply({ user_group_id: id }));
      await begin(at, ...changes);
      await take(
        at,
        changes.map((change) => ended(anApplied({ change }))),
      );
      await hold(at, [remove("a"), replace("b")], [], [remove("d"), remove("😀")]);
      expect(await heldIn(at)).toEqual([remove("a"), replace("b"), remove("d"), remove("😀")]);
      await hold(at, [remove("b")], [replace("c"), remove("é")]);
      expect(await heldIn(at)).toEqual([remove("b"), replace("c"), remove("é")]);
      await hold(at, [remove("e")]);
      expect(await heldIn(at)).toEqual([remove("e")]);
      await hold(at);
      expect(await heldIn(at)).toEqual([]);
    });
  });
}
