import { tokenFingerprint } from "../core/group.ts";
import type { Failure } from "../core/outcome.ts";
import type { Secret } from "../core/secret.ts";
import { ServiceFailure } from "../core/service-failure.ts";
import type { StoredToken } from "../ports/token-store.ts";
import type { Run } from "./run.ts";

/** The service tells one token for two groups: whatever goes by it may hit either. */
export const tokenShared = (): ServiceFailure =>
  new ServiceFailure(
    "TOKEN_SHARED",
    "the service returned a token that already belongs to another group; ask the service's operators for a new one",
  );

/** As it is recorded: what else an error has would be lost where it is spread. */
export function sharedFailure(): Failure {
  const { code, message } = tokenShared();
  return { code, message };
}

/** To be recorded with the failure of a group that was told this token: nobody may go by it any more. */
export const sharedBy = ({ code }: Failure, token: Secret): { readonly sharedToken?: string } =>
  code === "TOKEN_SHARED" ? { sharedToken: tokenFingerprint(token) } : {};

/** Whether the ledger has recorded this token for another group. */
export const isOfAnother = async (token: StoredToken, run: Pick<Run, "ledger">): Promise<boolean> =>
  (await tokensOfOthers([token], run)).size > 0;

/** Those whose tokens the ledger has recorded for another group, or which an earlier one of these has. */
export async function tokensOfOthers(
  tokens: readonly StoredToken[],
  { ledger }: Pick<Run, "ledger">,
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

/** The reason not to delete or rotate a group by this token, if there is one. */
export async function whyNotBy(
  token: Secret,
  id: string,
  { ledger }: Pick<Run, "ledger">,
): Promise<ServiceFailure | undefined> {
  const shared = await ledger.sharedTokens(new Map([[id, tokenFingerprint(token)]]), "all");
  return shared.has(id) ? tokenShared() : undefined;
}
