import type { UpdatePolicy } from "../core/decide.ts";
import type { DeletionPolicy } from "../core/deletion.ts";
import type { RateLimit } from "../core/rate-limit.ts";
import type { RotationPolicy } from "../core/rotation.ts";
import type { GroupRules } from "../core/rule.ts";
import type { Secret } from "../core/secret.ts";
import type { SecretPath } from "../core/secret-name.ts";
import type { TokenFormat } from "../core/token-format.ts";
import type { ListenAddress } from "./listen-address.ts";

/** The config file, checked and complete: defaults filled in, durations in milliseconds, secrets wrapped. */
export interface Config {
  /** The scope: daemons with different names share ledger tables without seeing each other. */
  readonly name: string;
  readonly service: ServiceConfig;
  readonly source: SourceConfig;
  readonly group: GroupRules;
  /** One or more: a token goes into all of them. */
  readonly tokens: readonly TokenConfig[];
  readonly ledger: LedgerConfig;
  readonly deletion: DeletionPolicy;
  readonly rotation: RotationPolicy;
  readonly schedule: ScheduleConfig;
  /** How long the daemon may take to end once it is told to. */
  readonly shutdownTimeoutMs: number;
  /** How long the ledger keeps a run. */
  readonly historyMs: number;
  readonly http: HttpConfig;
  readonly notify: NotifyConfig;
}

/** When the daemon syncs. */
export interface ScheduleConfig {
  /** A cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each tick is put off by a random part of this. */
  readonly jitterMs: number;
  readonly runAtStart: boolean;
}

export interface HttpConfig {
  readonly listen?: ListenAddress;
  /** Names that its pages may be asked for by, beside localhost, IP addresses and that of `listen`. */
  readonly allowedHosts?: readonly string[];
  /** How old the last good sync may be; left out: three periods of the schedule. */
  readonly staleAfterMs?: number;
}

export interface NotifyConfig {
  /** Gets a message with each change of state. */
  readonly webhook?: Secret;
  /** Is pinged after each sync that reached its end. */
  readonly heartbeat?: Secret;
}

export interface ServiceConfig {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: Secret;
  /** For one request. */
  readonly timeoutMs: number;
  /** Most requests in flight. */
  readonly concurrency: number;
  readonly rateLimit?: RateLimit;
  readonly update: UpdatePolicy;
}

/** Exactly one of `table` and `query` is there; `where` only beside `table`. */
export interface SourceConfig {
  readonly url: DatabaseUrl;
  readonly table?: string;
  readonly query?: string;
  readonly where?: string;
  /** Always there with `deletion.when: flagged`. */
  readonly removedWhen?: string;
  /** On PostgreSQL: whether a policy that may hide rows is an error, or meant. An error where left out. */
  readonly rowSecurity?: "error" | "filter";
}

export type TokenConfig = (TokenTableConfig | SecretTokenConfig) & {
  /** How often the daemon looks into it, whether it still has what it should; left out: never. */
  readonly verifyMs?: number;
};

export interface TokenTableConfig {
  readonly store: "table";
  readonly url: DatabaseUrl;
  readonly table: string;
  /** `own` inserts and deletes the table's rows; `existing` only updates the token column of rows that are there. */
  readonly rows: "own" | "existing";
  readonly idColumn: string;
  readonly tokenColumn: string;
  /** A PostgreSQL role that may own the table, and the ledger's, beside groupsync's own and its groups. */
  readonly owner?: string | undefined;
  /** A PostgreSQL channel that gets the user_group_id of each new token. */
  readonly notify?: string | undefined;
}

/** A secret store: one secret for each group. */
export type SecretTokenConfig = {
  readonly path: SecretPath;
  readonly format: TokenFormat;
} & (
  | {
      readonly store: "file";
      readonly directory: string;
      /** Whether the directory may be writable by its group. */
      readonly sharedDirectory: boolean;
    }
  | {
      readonly store: "vault";
      readonly address: string;
      readonly mount: string;
      readonly namespace?: string | undefined;
      readonly auth: VaultLogin;
    }
  | {
      readonly store: "aws_secrets_manager";
      readonly region?: string | undefined;
      readonly endpoint?: string | undefined;
      /** Also for an endpoint that the environment or a profile names. */
      readonly allowHttp: boolean;
    }
  | { readonly store: "gcp_secret_manager"; readonly project: string; readonly endpoint?: string | undefined }
  | { readonly store: "azure_key_vault"; readonly vaultUrl: string }
  | {
      readonly store: "kubernetes";
      readonly namespace?: string | undefined;
      readonly context?: string | undefined;
      readonly kubeconfig?: string | undefined;
      /** Of the Secret's data. */
      readonly key: string;
    }
);

export type VaultLogin =
  | { readonly method: "token"; readonly token: Secret }
  | { readonly method: "approle"; readonly mount: string; readonly roleId: string; readonly secretId: Secret }
  | {
      readonly method: "kubernetes";
      readonly mount: string;
      readonly role: string;
      readonly tokenFile: string;
    };

export interface LedgerConfig {
  readonly url: DatabaseUrl;
  /** Only on PostgreSQL. */
  readonly schema?: string;
  readonly tablePrefix: string;
  /** Those that `tokens` names: PostgreSQL roles that may own its tables, beside groupsync's own and its groups. */
  readonly owners: readonly string[];
}

/** The whole url is secret: it holds the password. */
export interface DatabaseUrl {
  readonly dialect: "postgres" | "mysql";
  readonly url: Secret;
}
