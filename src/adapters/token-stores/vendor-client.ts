import { SyncError } from "../../core/failure/sync-error.ts";
import { SecretStoreFailure } from "./secret-store.ts";

/** The packages that each store needs beside groupsync itself, in the tested versions. */
export const OPTIONAL_PACKAGES = {
  aws_secrets_manager: ["@aws-sdk/client-secrets-manager@3.1162.0"],
  gcp_secret_manager: ["@google-cloud/secret-manager@6.3.0"],
  azure_key_vault: ["@azure/keyvault-secrets@4.11.2", "@azure/identity@4.13.1"],
  kubernetes: ["@kubernetes/client-node@1.4.0"],
} as const;

/** `--save-prod` because package.json has these packages for development, and `--omit=dev` would leave them out. */
export const INSTALL = "npm install --no-save --save-prod --omit=dev";

/** Loads a store's packages. Rejects with CONFIG_PACKAGE_MISSING, whose hint is the command that installs them. */
export async function optional<T>(store: keyof typeof OPTIONAL_PACKAGES, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (systemCodeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    const packages = OPTIONAL_PACKAGES[store].join(" ");
    throw new SyncError(
      "CONFIG_PACKAGE_MISSING",
      `tokens.store: ${store} needs packages that are not installed`,
      {
        hint: `in groupsync's folder: ${INSTALL} ${packages}`,
        cause: error,
      },
    );
  }
}

interface VendorClientOptions<Client> {
  readonly connect: () => Promise<Client>;
  /** Whether a call failed because the login was refused or has expired. */
  readonly isLoginFailure: (error: unknown) => boolean;
  /** What the vendor's error means. Must not repeat the error's text, which may quote a secret. */
  readonly failureOf: (error: unknown, call: string) => SecretStoreFailure;
  readonly close?: (client: Client) => void | Promise<void>;
}

/** One client for all calls to a store: made at the first call, and replaced if its login is refused. */
export class VendorClient<Client> {
  readonly #options: VendorClientOptions<Client>;
  #current: Promise<Client> | undefined;
  /** Closed at the end only: calls may still use a client that was replaced. */
  readonly #made = new Set<Client>();

  constructor(options: VendorClientOptions<Client>) {
    this.#options = options;
  }

  /**
   * If the login is refused, repeats the call once with a new client. Rejects with a SecretStoreFailure, or with a SyncError
   * if the config is at fault. `name` is what the vendor calls the call.
   */
  async call<T>(work: (client: Client) => Promise<T>, name = ""): Promise<T> {
    try {
      return await this.#call(work);
    } catch (error) {
      if (error instanceof SyncError || error instanceof SecretStoreFailure) throw error;
      throw this.#options.failureOf(error, name);
    }
  }

  /** Like `call`, but an expected failure resolves to undefined. */
  unless<T>(
    isExpected: (error: unknown) => boolean,
    work: (client: Client) => Promise<T>,
    name?: string,
  ): Promise<T | undefined> {
    return this.call((client) => work(client).catch(expected(isExpected, undefined)), name);
  }

  async close(): Promise<void> {
    await this.#current?.catch(() => {});
    this.#current = undefined;
    const { close = () => {} } = this.#options;
    await Promise.all([...this.#made].map((client) => close(client)));
    this.#made.clear();
  }

  async #call<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const current = this.#connected();
    const client = await current;
    try {
      return await work(client);
    } catch (error) {
      if (!this.#options.isLoginFailure(error)) throw error;
      // If several calls are refused at once, only the first makes a new client.
      if (this.#current === current) this.#current = undefined;
      return await work(await this.#connected());
    }
  }

  #connected(): Promise<Client> {
    this.#current ??= this.#connect();
    return this.#current;
  }

  async #connect(): Promise<Client> {
    try {
      const client = await this.#options.connect();
      this.#made.add(client);
      return client;
    } catch (error) {
      // The next call tries to connect again.
      this.#current = undefined;
      throw error;
    }
  }
}

/** Turns an expected failure into a value: `call.catch(expected(isMissing, undefined))`. */
export const expected =
  <T>(isExpected: (error: unknown) => boolean, value: T) =>
  (error: unknown): T => {
    if (!isExpected(error)) throw error;
    return value;
  };

/** The error's code, such as ENOENT or ERR_MODULE_NOT_FOUND; empty if it has none. */
export const systemCodeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/**
 * Whether a retry is useless: the name doesn't resolve, a certificate is bad, or the answer isn't HTTP or never ends.
 */
export const isForGood = (systemCode: string): boolean =>
  /^ENOTFOUND$|^ERR_TLS|^ERR_SSL|CERT|SIGNATURE|ISSUER|^EPROTO$|^HPE_|^UND_ERR_RES_EXCEEDED/.test(systemCode);

/** Parses a `Retry-After` header in seconds. Returns milliseconds; undefined if there is none, or none in this form. */
export function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1000 : undefined;
}
