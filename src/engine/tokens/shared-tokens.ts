import { ServiceFailure } from "../../core/failure/service-failure.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { StoredToken } from "../../ports/token-store.ts";

interface Ports {
  readonly ledger: Pick<GroupReads, "sharedTokens">;
}

/** The service returned one token for two groups: a call with this token may change either group. */
export const tokenShared = (): ServiceFailure =>
  new ServiceFailure(
    "TOKEN_SHARED",
    "the service returned a token that already belongs to another group; ask the service's operators for a new one",
  );

/** Whether the ledger has recorded this token for another group; `all`: or knows that the service has told it for another one. */
export const hasSharedToken = async (
  { user_group_id, token }: StoredToken,
  { ledger }: Ports,
  of: "recorded" | "all" = "recorded",
): Promise<boolean> =>
  (await ledger.sharedTokens(new Map([[user_group_id, tokenFingerprint(token)]]), of)).size > 0;

/** The ids whose token the ledger has recorded for another group, or whose token another id has earlier in the list. */
export async function idsWithSharedTokens(
  tokens: readonly StoredToken[],
  { ledger }: Ports,
): Promise<ReadonlySet<string>> {
  if (tokens.length === 0) return new Set();
  const fingerprints = new Map(
    tokens.map(({ user_group_id, token }) => [user_group_id, tokenFingerprint(token)]),
  );
  const shared = new Set(await ledger.sharedTokens(fingerprints, "recorded"));
  const taken = new Set<string>();
  for (const [id, fingerprint] of fingerprints) {
    if (taken.has(fingerprint)) shared.add(id);
    else if (!shared.has(id)) taken.add(fingerprint);
  }
  return shared;
}
