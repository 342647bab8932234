import { readFile } from "node:fs/promises";
import { Secret } from "../../core/secret/secret.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/text/json.ts";
import type { Clock } from "../../ports/clock.ts";
import { SecretStoreFailure } from "./secret-store.ts";
import { failureOf, type VaultAnswer, type VaultHttp } from "./vault-client.ts";

interface GivenToken {
  readonly method?: "token" | undefined;
  readonly token: Secret;
}

/** A login, by the names that Vault has for its fields. */
type VaultLogin =
  | {
      readonly method: "approle";
      /** The mount path of the login, after `auth/`, without slashes at its ends. */
      readonly mount: string;
      readonly role_id: string;
      readonly secret_id: Secret;
    }
  | {
      readonly method: "kubernetes";
      readonly mount: string;
      readonly role: string;
      /** The file is read at each login: the cluster replaces the token before it expires. */
      readonly token_file: string;
    };

/** If no `method` is given, a token is. */
export type VaultAuth = GivenToken | VaultLogin;

const isToken = (auth: VaultAuth): auth is GivenToken => "token" in auth;

interface Login {
  readonly token: Secret;
  /** On the monotonic clock: when half of the rest of the lease is over. */
  readonly renewAt: number;
}

/** How long `close` waits for the login to be revoked, in milliseconds. */
const LONGEST_REVOCATION = 2_000;

/** Keeps one login. While it is used, a login is made anew, and a token from the config renewed, before it expires. */
export function vaultSession(http: VaultHttp, auth: VaultAuth, clock: Clock) {
  let login: Login | undefined;
  let underWay: Promise<Login> | undefined;

  function fresh(): Promise<Login> {
    return isToken(auth) ? renewed(auth.token) : loggedIn(auth);
  }

  /** Leaves a token as it is that Vault refuses to renew: it may be good all the same. A sealed Vault refuses nothing. */
  async function renewed(token: Secret): Promise<Login> {
    const path = "auth/token/renew-self";
    const answer = await http.send({ method: "POST", path, token, body: {} });
    const given = answer.status === 200 ? loginIn(answer.body.auth) : undefined;
    if (given) return given;
    const failure = failureOf(answer, "");
    if (failure.passes || answer.status >= 500) throw failure;
    return { token, renewAt: Number.POSITIVE_INFINITY };
  }

  async function loggedIn(auth: VaultLogin): Promise<Login> {
    const answer = await http.send({
      method: "POST",
      path: `auth/${auth.mount}/login`,
      body: await credentials(auth),
    });
    const given = answer.status === 200 ? loginIn(answer.body.auth) : undefined;
    if (!given) throw refusal(answer, auth.method);
    return given;
  }

  function loginIn(auth: Json | undefined): Login | undefined {
    if (!isJsonObject(auth) || typeof auth.client_token !== "string" || auth.client_token === "") return;
    const { client_token: token, lease_duration: seconds } = auth;
    const ms = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY;
    return { token: new Secret(token), renewAt: clock.monotonic() + ms / 2 };
  }

  /** Logs in at the first call, and again once half of the lease is over. */
  async function token(): Promise<Secret> {
    if (login && clock.monotonic() < login.renewAt) return login.token;
    underWay ??= fresh().finally(() => {
      underWay = undefined;
    });
    login = await underWay;
    return login.token;
  }

  return {
    token,
    /** Whether there is another login than the refused one. Logs in again if the refused one was the present login. */
    async isReplaced(refused: Secret): Promise<boolean> {
      if (isToken(auth)) return false;
      if (login?.token === refused) login = undefined;
      await token();
      return true;
    },
    /** Revokes a login that this session made: unused leases would fill Vault's storage. */
    async close(): Promise<void> {
      if (isToken(auth) || !login) return;
      const { token } = login;
      login = undefined;
      const path = "auth/token/revoke-self";
      await http.send({ method: "POST", path, token, timeoutMs: LONGEST_REVOCATION }).catch(() => {});
    },
  };
}

async function credentials(auth: VaultLogin): Promise<JsonObject> {
  if (auth.method === "approle") return { role_id: auth.role_id, secret_id: auth.secret_id.reveal() };
  try {
    return { role: auth.role, jwt: (await readFile(auth.token_file, "utf8")).trim() };
  } catch {
    throw new SecretStoreFailure(
      "unavailable",
      `the service account's token can't be read from ${auth.token_file}`,
      "name the file in tokens.auth.token_file; the pod needs automountServiceAccountToken",
    );
  }
}

function refusal(answer: VaultAnswer, method: "approle" | "kubernetes"): SecretStoreFailure {
  const hint =
    method === "approle"
      ? "check tokens.auth: the role_id, and whether the secret_id has expired or is used up"
      : "check tokens.auth.role, and the service accounts, namespaces and audience that it is bound to";
  const failure = failureOf(answer, hint);
  if (failure.passes || !answer.isVaults) return failure;
  return new SecretStoreFailure(
    "unavailable",
    `the ${method} login was refused (HTTP ${answer.status})`,
    hint,
  );
}
