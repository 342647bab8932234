import { randomBytes } from "node:crypto";
import { type Finding, ok, warning } from "../../../core/report/finding.ts";
import { Secret } from "../../../core/secret/secret.ts";
import { type SecretPath, secretName } from "../../../core/tokens/secrets.ts";
import { type SecretStore, SecretStoreFailure } from "./secret-store.ts";

/** Repeats a call that fails for a moment. */
export type Retried = <T>(work: () => Promise<T>) => Promise<T>;

/** Tries whether a store takes secrets and lets them go. Rejects with a SecretStoreFailure if it doesn't. */
export async function rehearseSecrets(
  secrets: SecretStore,
  path: SecretPath,
  canary: boolean,
  retried: Retried,
): Promise<Finding> {
  const { title } = secrets;
  if (secrets.rehearse) return ok(`${title}: ${await secrets.rehearse()}`);
  await retried(() => secrets.prepare());
  if (!canary) {
    return warning(
      `${title}: the login works; whether secrets can be written was not tried`,
      "check --canary writes a secret and deletes it; such stores keep a deleted name for days",
    );
  }
  const name = secretName(`groupsync-check-${randomBytes(8).toString("hex")}`, path, secrets.naming);
  const content = new Secret(randomBytes(32).toString("base64url"));
  try {
    await retried(() => secrets.put(name, content, () => false));
    const found = await retried(() => secrets.get(name));
    if (!found?.content.equals(content)) throw notReadBack(name);
  } finally {
    await retried(() => secrets.remove(name)).catch((error: unknown) => {
      throw staysBehind(name, error);
    });
  }
  return ok(`${title}: the secret ${name} was written, read back and deleted`);
}

function staysBehind(name: string, error: unknown): unknown {
  if (!(error instanceof SecretStoreFailure)) return error;
  return new SecretStoreFailure(
    error.problem,
    `the secret ${name} can't be deleted: ${error.message}`,
    `${error.hint}; then delete that secret, which is a token of no group`,
  );
}

const notReadBack = (name: string): SecretStoreFailure =>
  new SecretStoreFailure(
    "unavailable",
    `the secret ${name} was written, and what is read there is another`,
    "see who else writes there, and whether another version is read than the newest",
  );
