import * as z from "zod";
import {
  fits,
  HASHED,
  parseSecretPath,
  SECRET_NAMING,
  type SecretStoreKind,
} from "../core/tokens/secrets.ts";
import type { DatabaseUrl } from "./urls.ts";
import {
  channel,
  choice,
  choiceOfSection,
  column,
  credential,
  databaseUrl,
  duration,
  filePath,
  flag,
  mustBe,
  plainText,
  strictKeys,
  table,
  textLike,
  webAddress,
} from "./values.ts";

const verify = duration("a duration above zero", "24h", (ms) => ms > 0)
  .exactOptional()
  .meta({
    description:
      "How often a sync compares the store with the ledger, and restores tokens that somebody removed or changed. " +
      "`groupsync sync --verify-tokens` does both immediately.",
    otherwise: "never",
  });

const tokenTable = strictKeys({
  store: z.literal("table").optional().meta({
    description: "A table of a database. If `store` is left out, it is this kind.",
    otherwise: "`table`",
    see: "tokens.md",
  }),
  url: databaseUrl.exactOptional().meta({
    description: "The database with the token table.",
    otherwise: "`source.url`",
    example: `\${TOKENS_DATABASE_URL}`,
  }),
  table: table.exactOptional().meta({
    description: "The token table. With `rows: own` groupsync creates it if it is missing.",
    otherwise: "`groupsync_tokens`",
    example: "groupsync_tokens",
  }),
  rows: choice("own", "existing")
    .prefault("own")
    .meta({
      description:
        "`own`: groupsync inserts and deletes the table's rows. `existing`: it fills a column of rows that are there, such " +
        "as your customers, and clears it when the group is deleted. Then `table`, `id_column` and `token_column` are required.",
    }),
  owner: plainText("the name of a role", "write it like app, as PostgreSQL's \\du shows it")
    .exactOptional()
    .meta({
      description:
        "On PostgreSQL: another role that may own the token table and the ledger's tables. Whoever owns them reads the " +
        "tokens, and can run code as groupsync's role.",
      otherwise: "groupsync's role, or a group role that it inherits from",
      see: "security.md",
      example: "app",
    }),
  id_column: column().exactOptional().meta({
    description: "The column with the tenant's id.",
    otherwise: "`user_group_id`",
    example: "user_group_id",
  }),
  token_column: column().exactOptional().meta({
    description: "The column that gets the token.",
    otherwise: "`token`",
    example: "token",
  }),
  notify: channel("groupsync_tokens")
    .exactOptional()
    .meta({
      description:
        "A PostgreSQL channel that gets the `user_group_id` with each new token, so that your application reads the " +
        "token again: small letters, digits and `_`. MySQL has no channels.",
      otherwise: "nobody is notified",
      see: "application.md",
    }),
  verify,
});

/** A template of the names of secrets. `allowed` says in words which characters may stand around the id. */
function secretPath(kind: SecretStoreKind, example: string, allowed: string) {
  const naming = SECRET_NAMING[kind];
  const remedy = `write it like ${example}`;
  const path = z.string(mustBe("a path", remedy)).transform((template, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    };
    const parts = parseSecretPath(template);
    if (parts === undefined)
      return refuse(`has to have {{ user_group_id }} in it once, and no other braces; ${remedy}`);
    if (fits(parts, naming)) return parts;
    const isTooLong = fits(parts, { ...naming, longest: Number.POSITIVE_INFINITY });
    return refuse(
      isTooLong
        ? `is too long: a name has at most ${naming.longest} characters, of which an id may need ${HASHED}`
        : `is not a path that this store takes; ${remedy}, around the id with ${allowed}`,
    );
  });
  return path.meta({ what: "a path", remedy });
}

interface SecretNames {
  /** The default path. */
  readonly path: string;
  /** What the page has to say of `path`. */
  readonly about?: string;
  /** In words: which characters may stand around the id. */
  readonly allowed: string;
}

const A_SECRET = "The name of a tenant's secret. The path must contain `{{ user_group_id }}` once.";

/** The keys that all secret stores have. */
const secrets = <Kind extends SecretStoreKind>(
  kind: Kind,
  title: string,
  section: string,
  { path, about = A_SECRET, allowed }: SecretNames,
) => ({
  store: z.literal(kind).meta({ description: `${title}.`, see: `secret-stores.md#${section}` }),
  path: secretPath(kind, path, allowed).prefault(path).meta({ description: about }),
  format: choice("token", "json").prefault("token").meta({
    description:
      "What a secret holds. `token`: the bare token. `json`: an object with `user_group_id`, `token` and `rotated_at`, the time of the write.",
  }),
  verify,
});

const FOLDER = "dashboards/{{ user_group_id }}";
const PREFIX = "dashboards-{{ user_group_id }}";

const allowHttp = flag.prefault(false).meta({
  description:
    "Whether the address may be `http:` and lead to another host. If so, anybody in between can read the tokens.",
});

const directory = strictKeys({
  ...secrets("file", "A directory with one file for each group", "files", {
    path: "{{ user_group_id }}",
    about:
      "A tenant's file, below the directory. The path must contain `{{ user_group_id }}` once, and may contain folders.",
    allowed: "letters, digits, _ and -, with / between folders",
  }),
  directory: filePath("a directory", "/var/lib/groupsync/tokens").meta({
    description:
      "The directory. Before the first sync, it must be empty or missing. Only groupsync may use it.",
  }),
  shared_directory: flag.prefault(false).meta({
    description: "Whether the directory's Unix group may write to it.",
  }),
});

/**
 * A path that goes into a request unescaped. Vault shows such paths with slashes at their ends, which are removed here.
 */
const vaultPath = (what: string, example: string) =>
  textLike(
    /^\/?(?:(?!\.{1,2}\/)[\w.~@+=:-]+\/)*(?!\.{1,2}\/?$)[\w.~@+=:-]+\/?$/,
    what,
    `write it like ${example}`,
  ).transform((path) => path.replace(/^\/|\/$/g, ""));

const loginPath = (path: string) =>
  vaultPath("the path of a login", path)
    .prefault(path)
    .meta({ description: "The path of this login method in Vault." });

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

const tokenLogin = strictKeys({
  method: z.literal("token").optional().meta({ description: "A token that you give.", otherwise: "`token`" }),
  token: credential.meta({ description: "The token, from the environment or from a file." }),
});

const appRoleLogin = strictKeys({
  method: z.literal("approle").meta({ description: "The AppRole login." }),
  mount: loginPath("approle"),
  role_id: plainText("the id of a role", "write the role_id of the AppRole").meta({
    description: "The role_id of the AppRole.",
  }),
  secret_id: credential.meta({
    description: "The AppRole's secret_id, from the environment or from a file.",
  }),
});

const kubernetesLogin = strictKeys({
  method: z.literal("kubernetes").meta({ description: "The login of a Kubernetes service account." }),
  mount: loginPath("kubernetes"),
  role: plainText("a role", "write the one that the service account may take").meta({
    description: "The role that the service account may take.",
  }),
  token_file: filePath("a file", SERVICE_ACCOUNT_TOKEN).prefault(SERVICE_ACCOUNT_TOKEN).meta({
    description: "The file with the service account's token.",
  }),
});

const vaultLogin = z
  .preprocess(
    (value) => value ?? {},
    z.discriminatedUnion(
      "method",
      [tokenLogin, appRoleLogin, kubernetesLogin],
      choiceOfSection("method", ["token", "approle", "kubernetes"]),
    ),
  )
  .meta({
    description:
      "How groupsync logs in to Vault. The `method` is `token` (the default), `approle` or `kubernetes`.",
  });

const vault = strictKeys({
  ...secrets("vault", "HashiCorp Vault or OpenBao", "vault-or-openbao", {
    path: FOLDER,
    allowed: "letters, digits, _, . and -, with / between folders",
  }),
  address: webAddress("the address of a server", "write it like https://vault.internal:8200").meta({
    description: "The address of Vault.",
  }),
  allow_http: allowHttp,
  mount: vaultPath("the path of a KV version 2 engine", "secret").prefault("secret").meta({
    description: "The path of a KV version 2 engine.",
  }),
  namespace: vaultPath("a namespace", "teams/data").exactOptional().meta({
    description: "The namespace.",
    otherwise: "none",
  }),
  auth: vaultLogin,
});

const awsSecretsManager = strictKeys({
  ...secrets("aws_secrets_manager", "AWS Secrets Manager", "aws-secrets-manager", {
    path: FOLDER,
    allowed: "letters, digits and /_+.@-, without a - behind it",
  }),
  region: textLike(/^[a-z0-9]+(?:-+[a-z0-9]+)*$/, "a region", "write its code, like eu-central-1")
    .exactOptional()
    .meta({ description: "The region.", otherwise: "`AWS_REGION`, or the profile's region" }),
  endpoint: webAddress(
    "the address of an endpoint",
    "write it like https://vpce-0a1b.secretsmanager.eu-central-1.vpce.amazonaws.com",
  )
    .exactOptional()
    .meta({
      description: "Your own endpoint, such as a VPC endpoint.",
      otherwise: "the endpoint of the environment or the AWS profile, or else AWS's own",
    }),
  // It holds for an endpoint that the environment or an AWS profile names, too.
  allow_http: allowHttp,
});

const hasNoPath = ({ pathname }: URL): boolean => pathname === "/";

/** The id of a project (old ids have a domain before a colon), or its number, which YAML reads as a number. */
const gcpProject = z
  .preprocess(
    (value) => (typeof value === "number" ? String(value) : value),
    textLike(
      /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$|^[1-9]\d*$/,
      "the id or number of a project",
      "write it like crm-prod-4711: 6 to 30 small letters, digits and hyphens",
    ),
  )
  .meta({ type: ["string", "number"] });

const gcpSecretManager = strictKeys({
  ...secrets("gcp_secret_manager", "Google Cloud Secret Manager", "google-cloud-secret-manager", {
    path: PREFIX,
    allowed: "letters, digits and -",
  }),
  project: gcpProject.meta({ description: "The project, by its id or its number." }),
  endpoint: webAddress(
    "the address of an endpoint",
    "write it like https://secretmanager.europe-west3.rep.googleapis.com, without a path",
    hasNoPath,
  )
    .exactOptional()
    .meta({
      description: "Another endpoint. An `http:` endpoint must be an emulator, and gets no credentials.",
      otherwise: "Google's endpoint",
    }),
  allow_http: allowHttp,
});

const azureKeyVault = strictKeys({
  ...secrets("azure_key_vault", "Azure Key Vault", "azure-key-vault", {
    path: PREFIX,
    allowed: "small letters, digits and -",
  }),
  vault_url: webAddress(
    "the address of a vault",
    "write it like https://my-vault.vault.azure.net, without a path",
    (url) => url.protocol === "https:" && hasNoPath(url),
  ).meta({ description: "The vault." }),
});

const kubernetes = strictKeys({
  ...secrets("kubernetes", "Kubernetes Secrets", "kubernetes-secrets", {
    path: PREFIX,
    allowed: "small letters, digits, - and ., with a letter or digit at either end",
  }),
  namespace: textLike(
    /^(?=.{1,63}$)[a-z0-9]+(?:-+[a-z0-9]+)*$/,
    "a namespace",
    "write it like dashboards: small letters, digits and hyphens",
  )
    .exactOptional()
    .meta({
      description: "The namespace.",
      otherwise: "the namespace of the service account, or else of the context",
    }),
  context: plainText("a context of the kubeconfig", "write its name")
    .exactOptional()
    .meta({ description: "The context of the kubeconfig.", otherwise: "the kubeconfig's current context" }),
  kubeconfig: filePath("a file", "/etc/groupsync/kubeconfig").exactOptional().meta({
    description: "The kubeconfig.",
    otherwise: "the cluster that groupsync runs in, or else `KUBECONFIG`, or else `~/.kube/config`",
  }),
  key: textLike(
    /^(?!\.\.|\.$)[-.\w]{1,253}$/,
    "a key of a Secret's data",
    "write letters, digits, dots, dashes and underscores, like token",
  )
    .prefault("token")
    .meta({ description: "The key in the Secret's data that gets the token." }),
});

const tokenStore = z.discriminatedUnion(
  "store",
  [tokenTable, directory, vault, awsSecretsManager, gcpSecretManager, azureKeyVault, kubernetes],
  choiceOfSection("store", ["table", ...Object.keys(SECRET_NAMING)]),
);

/** The key `tokens`: a list of stores, or a single store in place of a list. */
export const tokenStores = z
  .preprocess(
    (value) => (Array.isArray(value) ? value : [value ?? {}]),
    z.array(tokenStore).min(1, "is an empty list; leave it out, or name one or more"),
  )
  .prefault({})
  .meta({
    description:
      "Where tokens are written: one store, or a list of several. A token counts as stored once all of them have it. " +
      "`store` says which kind of store it is; each kind has keys of its own.",
    see: "tokens.md",
  });

/** A store as the file has it. */
export type WrittenStore = z.output<typeof tokenStore>;
export type WrittenTable = z.output<typeof tokenTable>;

export const isTable = (store: WrittenStore): store is WrittenTable =>
  store.store === undefined || store.store === "table";

/** A secret store: one secret for each group. */
export type SecretTokens = Exclude<WrittenStore, WrittenTable>;

/** A token table with what another key gives where the file leaves it out. */
export type TokenTable = Omit<WrittenTable, "store" | "url" | "table" | "id_column" | "token_column"> & {
  readonly store: "table";
  readonly url: DatabaseUrl;
  readonly table: string;
  readonly id_column: string;
  readonly token_column: string;
};

export const completeStore = (store: WrittenStore, sourceUrl: DatabaseUrl): TokenTable | SecretTokens =>
  isTable(store)
    ? {
        ...store,
        store: "table",
        url: store.url ?? sourceUrl,
        table: store.table ?? "groupsync_tokens",
        id_column: store.id_column ?? "user_group_id",
        token_column: store.token_column ?? "token",
      }
    : store;
