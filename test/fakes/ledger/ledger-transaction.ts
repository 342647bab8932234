import type { LedgerTransaction } from "../../../src/ports/ledger/ledger.ts";
import { deletionWrites } from "./deletions.ts";
import { groupWrites } from "./groups.ts";
import { LedgerChanges } from "./ledger-changes.ts";
import { LedgerState } from "./ledger-state.ts";
import { refreshWrites } from "./refresh.ts";
import { rotationWrites } from "./rotations.ts";
import { rejectionWrites, runWrites } from "./runs.ts";
import { schemaWrites } from "./schema.ts";
import { serviceWrites } from "./service.ts";
import { tokenWrites } from "./tokens.ts";

const openChanges = new WeakMap<LedgerTransaction, LedgerChanges>();

/** A transaction that collects its writes in `changes`. */
export function inMemoryTransaction(
  changes: LedgerChanges,
  assertOpen: () => void = () => {},
): LedgerTransaction {
  const transaction = {
    assertOpen,
    ...schemaWrites(changes),
    ...serviceWrites(changes),
    ...groupWrites(changes),
    ...deletionWrites(changes),
    ...rotationWrites(changes),
    ...refreshWrites(changes),
    ...tokenWrites(changes),
    ...runWrites(changes),
    ...rejectionWrites(changes),
  };
  openChanges.set(transaction, changes);
  return transaction;
}

/** A transaction that nobody commits. */
export const someTransaction = (): LedgerTransaction =>
  inMemoryTransaction(new LedgerChanges(new LedgerState()));

/** For a store in the same database: its change happens when the transaction commits, or not at all. */
export function enlist(transaction: LedgerTransaction, change: () => void): void {
  const changes = openChanges.get(transaction);
  if (!changes) throw new Error("not a transaction of this ledger");
  changes.enlist(change);
}
