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
  readonly isRenewable: boolean;
  /** On the monotonic clock: when half of the rest of the lease is over. */
  readonly renewAt: number;
}

/** How long `close` waits for the login to be revoked, in milliseconds. */
const LONGEST_REVOCATION = 2_000;

/** Keeps one login, and renews it while it is used. */
export class VaultSession {
  readonly #http: VaultHttp;
  readonly #auth: VaultAuth;
  readonly #clock: Clock;
  #login: Login | undefined;
  #underWay: Promise<Login> | undefined;

  constructor(http: VaultHttp, auth: VaultAuth, clock: Clock) {
    this.#http = http;
    this.#auth = auth;
    this.#clock = clock;
  }

  /** Logs in at the first call, and renews a lease that is more than half over. */
  async token(): Promise<Secret> {
    if (this.#login && this.#clock.monotonic() < this.#login.renewAt) return this.#login.token;
    this.#underWay ??= this.#fresh(this.#login).finally(() => {
      this.#underWay = undefined;
    });
    this.#login = await this.#underWay;
    return this.#login.token;
  }

  /** Whether there is another login than the refused one. Logs in again if the refused one was the present login. */
  async isReplaced(refused: Secret): Promise<boolean> {
    if (isToken(this.#auth)) return false;
    if (this.#login?.token === refused) this.#login = undefined;
    await this.token();
    return true;
  }

  /** Revokes a login that this session made: unused leases would fill Vault's storage. */
  async close(): Promise<void> {
    if (isToken(this.#auth) || !this.#login) return;
    const { token } = this.#login;
    this.#login = undefined;
    const path = "auth/token/revoke-self";
    await this.#http.send({ method: "POST", path, token, timeoutMs: LONGEST_REVOCATION }).catch(() => {});
  }

  async #fresh(login: Login | undefined): Promise<Login> {
    const renewed = login?.isRenewable ? await this.#renewed(login) : undefined;
    if (renewed) return renewed;
    if (!isToken(this.#auth)) return this.#loggedIn(this.#auth);
    return login ? { ...login, renewAt: Number.POSITIVE_INFINITY } : this.#lookedUp(this.#auth.token);
  }

  /** Undefined if Vault refuses. Near its maximum a lease gets shorter and ends; the next call is refused, and logs in again. */
  async #renewed({ token }: Login): Promise<Login | undefined> {
    const answer = await this.#http.send({
      method: "POST",
      path: "auth/token/renew-self",
      token,
      body: {},
    });
    return answer.status === 200 ? this.#loginIn(answer.body.auth) : undefined;
  }

  /** Looks up the lease of a token from the config. A token without the right to this lookup may still be valid. */
  async #lookedUp(token: Secret): Promise<Login> {
    const { status, body } = await this.#http.send({ method: "GET", path: "auth/token/lookup-self", token });
    const data = status === 200 && isJsonObject(body.data) ? body.data : {};
    return this.#lease(token, data.renewable, data.ttl);
  }

  async #loggedIn(auth: VaultLogin): Promise<Login> {
    const answer = await this.#http.send({
      method: "POST",
      path: `auth/${auth.mount}/login`,
      body: await credentials(auth),
    });
    const login = answer.status === 200 ? this.#loginIn(answer.body.auth) : undefined;
    if (!login) throw refusal(answer, auth.method);
    return login;
  }

  #loginIn(auth: Json | undefined): Login | undefined {
    if (!isJsonObject(auth) || typeof auth.client_token !== "string" || auth.client_token === "") return;
    return this.#lease(new Secret(auth.client_token), auth.renewable, auth.lease_duration);
  }

  #lease(token: Secret, renewable: Json | undefined, seconds: Json | undefined): Login {
    const ms = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
    const renewAt = ms === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + ms / 2;
    return { token, isRenewable: renewable === true, renewAt };
  }
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
