import { ServiceFailure } from "../../core/failure/service-failure.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import type { Secret } from "../../core/secret/secret.ts";
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

/** Part of a recorded failure: the fingerprint of a token that the service returned for two groups. No call may use it. */
export const sharedBy = ({ code }: Failure, token: Secret): { readonly sharedToken?: string } =>
  code === "TOKEN_SHARED" ? { sharedToken: tokenFingerprint(token) } : {};

/** Whether the ledger has recorded this token for another group. */
export const hasSharedToken = async (token: StoredToken, ports: Ports): Promise<boolean> =>
  (await idsWithSharedTokens([token], ports)).size > 0;

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

/** Why a group must not be deleted or rotated with this token; undefined if it may. */
export async function sharedTokenFailure(
  token: Secret,
  id: string,
  { ledger }: Ports,
): Promise<ServiceFailure | undefined> {
  const shared = await ledger.sharedTokens(new Map([[id, tokenFingerprint(token)]]), "all");
  return shared.has(id) ? tokenShared() : undefined;
}
