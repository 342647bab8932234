import type { Failure } from "../../core/failure/sync-error.ts";
import { compareIds } from "../../core/group/tenant.ts";
import { isNeverMade } from "../../core/record/record.ts";
import { printableId } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { Warning } from "../../ports/observer.ts";
import type { TokenDestination, TokenStore } from "../../ports/token-store.ts";
import type { Plan } from "../plan/plan.ts";

interface Ports {
  readonly ledger: Pick<GroupReads, "groups">;
  readonly tokens: Pick<TokenStore, "destinations">;
}

const MOST_NAMED = 10;

/**
 * Warnings about stored tokens whose groups the ledger doesn't know and whose tenants are gone: for example, the tenant was
 * removed while the ledger was lost. Nothing else would ever find these groups. Only tables can list their tokens.
 */
export async function untrackedWarnings(plan: Plan, { ledger, tokens }: Ports): Promise<readonly Warning[]> {
  const warnings: Warning[] = [];
  for (const { title, ids } of listsOf(tokens)) {
    const named: string[] = [];
    let count = 0;
    for await (const id of notIn(notIn(ids, groupsOf(ledger)), tenantsOf(plan)))
      if (++count <= MOST_NAMED) named.push(printableId(id));
    if (count > 0) warnings.push(warning(title, count, named));
  }
  return warnings;
}

/** The groups that have a stored token and that the ledger doesn't know. */
export async function* untrackedGroups({ ledger, tokens }: Ports): AsyncGenerator<string> {
  for (const { ids } of listsOf(tokens)) yield* notIn(ids, groupsOf(ledger));
}

/** The failure of a group that `rotate --all` can't rotate, because its token is stored but the ledger doesn't know the group. */
export const UNTRACKED: Failure = {
  code: "GROUP_UNTRACKED",
  message:
    "its token is stored, and the ledger doesn't know the group: a sync adopts it if its tenant is there",
};

const listsOf = ({ destinations }: Ports["tokens"]): { title: string; ids: AsyncIterable<string> }[] =>
  destinations.flatMap((destination: TokenDestination) => {
    const batches = destination.ids();
    return batches === null ? [] : [{ title: destination.title, ids: oneByOne(batches) }];
  });

async function* groupsOf(ledger: Ports["ledger"]): AsyncGenerator<string> {
  for await (const group of oneByOne(ledger.groups())) if (!isNeverMade(group)) yield group.user_group_id;
}

async function* tenantsOf({ entries }: Plan): AsyncGenerator<string> {
  for await (const { user_group_id } of oneByOne(entries.read()))
    if (user_group_id !== null) yield user_group_id;
}

async function* oneByOne<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch;
}

/** The ids that are not in `known`. Both have to be in the order of the ids. */
async function* notIn(ids: AsyncIterable<string>, known: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    let next = await known.next();
    for await (const id of ids) {
      while (!next.done && compareIds(next.value, id) < 0) next = await known.next();
      if (next.done || next.value !== id) yield id;
    }
  } finally {
    // Close the ledger's stream.
    await known.return(undefined);
  }
}

const warning = (title: string, count: number, named: readonly string[]): Warning => ({
  kind: "warning",
  code: "GROUP_UNTRACKED",
  message: `${quantity(count, "token")} in ${title} ${count === 1 ? "belongs to a group that the ledger doesn't know and whose tenant is gone" : "belong to groups that the ledger doesn't know and whose tenants are gone"}: ${named.join(", ")}${count > named.length ? ` and ${count - named.length} more` : ""}`,
  hint: "groupsync never deletes these groups, and each token may still be live: restore the ledger if it was lost; or put the tenant's row back until a sync has adopted the group, and remove it again; or delete the group at the service by its token, and then the token",
});
