import type { GroupRules } from "../../core/group/group-rules.ts";
import type { RateLimit } from "../../core/limits/rate-limit.ts";
import type { DeletionPolicy } from "../../core/plan/deletion-policy.ts";
import type { UpdatePolicy } from "../../core/plan/planned-action.ts";
import type { RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import type { Secret } from "../../core/secret/secret.ts";
import type { SecretPath, TokenFormat } from "../../core/tokens/secrets.ts";
import type { ListenAddress } from "./listen-address.ts";

/** The config file, checked and complete: defaults filled in, durations in milliseconds, secrets wrapped. */
export interface Config {
  /** The scope: daemons with different names share ledger tables without seeing each other. */
  readonly name: string;
  readonly service: ServiceConfig;
  readonly source: SourceConfig;
  readonly group: GroupRules;
  /** One or more stores. Each token is written to all of them. */
  readonly tokens: readonly TokenConfig[];
  readonly ledger: LedgerConfig;
  readonly deletion: DeletionPolicy;
  readonly rotation: RotationPolicy;
  readonly schedule: ScheduleConfig;
  /** How long the daemon may take to end after SIGTERM. */
  readonly shutdownTimeoutMs: number;
  /** How long the ledger keeps a run. */
  readonly historyMs: number;
  readonly http: HttpConfig;
  readonly notify: NotifyConfig;
}

/** When the daemon syncs. */
interface ScheduleConfig {
  /** A cron line, read in `timezone`. */
  readonly line: string;
  readonly timezone: string;
  /** Each tick is delayed by a random part of this time. */
  readonly jitterMs: number;
  readonly runAtStart: boolean;
}

interface HttpConfig {
  readonly listen?: ListenAddress;
  /** Host names that a request may have, beside localhost, IP addresses and the host of `listen`. */
  readonly allowedHosts?: readonly string[];
  /** How old the last good sync may be before `/readyz` fails. Default: three periods of the schedule. */
  readonly staleAfterMs?: number;
  /** The bearer key of `POST /sync/{user_group_id}`. Without a key there is no such address. */
  readonly syncKey?: Secret;
}

interface NotifyConfig {
  /** The address that gets a message with each change of state. */
  readonly webhook?: Secret;
  /** The address that gets a GET after each sync that reached its end. */
  readonly heartbeat?: Secret;
}

interface ServiceConfig {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: Secret;
  /** For one request. */
  readonly timeoutMs: number;
  /** Most requests in flight. */
  readonly concurrency: number;
  readonly rateLimit?: RateLimit;
  readonly update: UpdatePolicy;
  /** Every group is asked for again within this time. Default: never. */
  readonly refreshMs?: number;
}

/** Exactly one of `table` and `query` is there; `where` only beside `table`. */
export interface SourceConfig {
  readonly url: DatabaseUrl;
  readonly table?: string;
  readonly query?: string;
  readonly where?: string;
  /** The condition that is true of a removed tenant. Required with `deletion.when: flagged`. */
  readonly removedWhen?: string;
  /** The condition that is true of a row that is ready. Every row is, if left out. */
  readonly readyWhen?: string;
  /** How the daemon notices single tenants between two full syncs. Has at least one of `column` and `channel`. */
  readonly changes?: ChangesConfig;
  /** On PostgreSQL: whether a policy that may hide rows is an error (the default), or a filter that the user wants. */
  readonly rowSecurity?: "error" | "filter";
}

export interface ChangesConfig {
  /** The column that every insert and update moves, and how often its newest rows are asked for. */
  readonly column?: { readonly name: string; readonly everyMs: number };
  /** The channel of PostgreSQL that names changed tenants, and where to listen to it. */
  readonly channel?: { readonly name: string; readonly url: DatabaseUrl };
}

export type TokenConfig = (TokenTableConfig | SecretTokenConfig) & {
  /** How often the daemon checks that the store still has the right tokens. Default: never. */
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
  /**
   * A PostgreSQL role that may own this table and the ledger's, beside groupsync's role and the roles it inherits from.
   */
  readonly owner?: string | undefined;
  /** The PostgreSQL channel that gets the user_group_id of each new token. */
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
      /** Holds also for an endpoint that the environment or an AWS profile names. */
      readonly allowHttp: boolean;
    }
  | { readonly store: "gcp_secret_manager"; readonly project: string; readonly endpoint?: string | undefined }
  | { readonly store: "azure_key_vault"; readonly vaultUrl: string }
  | {
      readonly store: "kubernetes";
      readonly namespace?: string | undefined;
      readonly context?: string | undefined;
      readonly kubeconfig?: string | undefined;
      /** The key in the Secret's data that holds the token. */
      readonly key: string;
    }
);

type VaultLogin =
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
  /** The `owner` of each token table: PostgreSQL roles that may own the ledger's tables, too. */
  readonly owners: readonly string[];
}

/** The whole url is secret, because it may hold a password. */
export interface DatabaseUrl {
  readonly dialect: "postgres" | "mysql";
  readonly url: Secret;
}
