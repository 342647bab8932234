import * as z from "zod";
import {
  fits,
  HASHED,
  parseSecretPath,
  SECRET_NAMING,
  type SecretNaming,
  type SecretStoreKind,
} from "../../core/tokens/secrets.ts";
import { allowHttp, httpIsAllowed } from "./plain-http.ts";
import { column } from "./rules.ts";
import { choice, flag, mustBe } from "./scalars.ts";
import { type CrossCheck, choiceOfSection, strictKeys } from "./section.ts";
import {
  channel,
  credential,
  databaseUrl,
  duration,
  filePath,
  plainText,
  table,
  textLike,
  webAddress,
} from "./values.ts";

/** How often the daemon looks for tokens that somebody has removed from the store or changed in it. */
const verify = duration((ms) => ms > 0, "a duration above zero", "write it like 24h").optional();

const checkTable: CrossCheck = function* (tokens) {
  if (tokens.rows === "existing") {
    for (const key of ["table", "id_column", "token_column"]) {
      if (tokens[key] !== undefined) continue;
      yield [key, `is missing; with rows: existing, name the ${key.replace("_", " ")} of the tokens`];
    }
  }
  if (tokens.token_column !== undefined && tokens.token_column === tokens.id_column) {
    yield ["token_column", "is the id_column too; the token needs a column of its own"];
  }
};

const tokenTable = strictKeys(
  {
    store: z.literal("table").optional(),
    url: databaseUrl.optional(),
    table: table.optional(),
    rows: choice("own", "existing").prefault("own"),
    owner: plainText("the name of a role", "write it like app, as PostgreSQL's \\du shows it").optional(),
    id_column: column().optional(),
    token_column: column().optional(),
    notify: channel("groupsync_tokens").optional(),
    verify,
  },
  checkTable,
).transform(({ table, id_column, token_column, ...keys }) => ({
  ...keys,
  store: "table" as const,
  table: table ?? "groupsync_tokens",
  idColumn: id_column ?? "user_group_id",
  tokenColumn: token_column ?? "token",
}));

/** A template of the names of secrets. `allowed` says in words which characters may stand around the id. */
const secretPath = (naming: SecretNaming, example: string, allowed: string) =>
  z.string(mustBe("a path", `write it like ${example}`)).transform((template, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    };
    const path = parseSecretPath(template);
    if (path === undefined)
      return refuse(
        `{value} has to have {{ user_group_id }} in it once, and no other braces; write it like ${example}`,
      );
    if (fits(path, naming)) return path;
    const isTooLong = fits(path, { ...naming, longest: Number.POSITIVE_INFINITY });
    return refuse(
      isTooLong
        ? `{value} is too long: a name has at most ${naming.longest} characters, of which an id may need ${HASHED}`
        : `{value} is not a path that this store takes; write it like ${example}, around the id with ${allowed}`,
    );
  });

/** The keys that all secret stores have. `path` is the default path; `allowed` is for `secretPath`. */
const secrets = <Kind extends SecretStoreKind>(kind: Kind, path: string, allowed: string) => ({
  store: z.literal(kind),
  path: secretPath(SECRET_NAMING[kind], path, allowed).prefault(path),
  format: choice("token", "json").prefault("token"),
  verify,
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

const hasNoPath = ({ pathname }: URL): boolean => pathname === "/";

const FOLDER = "dashboards/{{ user_group_id }}";
const PREFIX = "dashboards-{{ user_group_id }}";

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

const tokenLogin = strictKeys({
  method: z.literal("token").optional(),
  token: credential,
}).transform(({ token }) => ({ method: "token" as const, token }));

const appRoleLogin = strictKeys({
  method: z.literal("approle"),
  mount: vaultPath("the path of a login", "approle").prefault("approle"),
  role_id: plainText("the id of a role", "write the role_id of the AppRole"),
  secret_id: credential,
}).transform(({ method, mount, role_id, secret_id }) => ({
  method,
  mount,
  roleId: role_id,
  secretId: secret_id,
}));

const kubernetesLogin = strictKeys({
  method: z.literal("kubernetes"),
  mount: vaultPath("the path of a login", "kubernetes").prefault("kubernetes"),
  role: plainText("a role", "write the one that the service account may take"),
  token_file: filePath("a file", SERVICE_ACCOUNT_TOKEN).prefault(SERVICE_ACCOUNT_TOKEN),
}).transform(({ token_file, ...keys }) => ({ ...keys, tokenFile: token_file }));

const vaultLogin = z.preprocess(
  (value) => value ?? {},
  z.discriminatedUnion(
    "method",
    [tokenLogin, appRoleLogin, kubernetesLogin],
    choiceOfSection("method", ["token", "approle", "kubernetes"]),
  ),
);

const directory = strictKeys({
  ...secrets("file", "{{ user_group_id }}", "letters, digits, _ and -, with / between folders"),
  directory: filePath("a directory", "/var/lib/groupsync/tokens"),
  shared_directory: flag.prefault(false),
}).transform(({ shared_directory, ...keys }) => ({ ...keys, sharedDirectory: shared_directory }));

const vault = strictKeys(
  {
    ...secrets("vault", FOLDER, "letters, digits, _, . and -, with / between folders"),
    address: webAddress("the address of a server", "write it like https://vault.internal:8200"),
    allow_http: allowHttp,
    mount: vaultPath("the path of a KV version 2 engine", "secret").prefault("secret"),
    namespace: vaultPath("a namespace", "teams/data").optional(),
    auth: vaultLogin,
  },
  httpIsAllowed("address"),
).transform(({ allow_http, ...keys }) => keys);

const awsSecretsManager = strictKeys(
  {
    ...secrets("aws_secrets_manager", FOLDER, "letters, digits and /_+.@-, without a - behind it"),
    region: textLike(
      /^[a-z0-9]+(?:-+[a-z0-9]+)*$/,
      "a region",
      "write its code, like eu-central-1",
    ).optional(),
    endpoint: webAddress(
      "the address of an endpoint",
      "write it like https://vpce-0a1b.secretsmanager.eu-central-1.vpce.amazonaws.com",
    ).optional(),
    allow_http: allowHttp,
  },
  httpIsAllowed("endpoint"),
).transform(({ allow_http, ...keys }) => ({ ...keys, allowHttp: allow_http }));

const gcpSecretManager = strictKeys(
  {
    ...secrets("gcp_secret_manager", PREFIX, "letters, digits and -"),
    project: gcpProject,
    endpoint: webAddress(
      "the address of an endpoint",
      "write it like https://secretmanager.europe-west3.rep.googleapis.com, without a path",
      hasNoPath,
    ).optional(),
    allow_http: allowHttp,
  },
  httpIsAllowed("endpoint"),
).transform(({ allow_http, ...keys }) => keys);

const azureKeyVault = strictKeys({
  ...secrets("azure_key_vault", PREFIX, "small letters, digits and -"),
  vault_url: webAddress(
    "the address of a vault",
    "write it like https://my-vault.vault.azure.net, without a path",
    (url) => url.protocol === "https:" && hasNoPath(url),
  ),
}).transform(({ vault_url, ...keys }) => ({ ...keys, vaultUrl: vault_url }));

const kubernetes = strictKeys({
  ...secrets("kubernetes", PREFIX, "small letters, digits, - and ., with a letter or digit at either end"),
  namespace: textLike(
    /^(?=.{1,63}$)[a-z0-9]+(?:-+[a-z0-9]+)*$/,
    "a namespace",
    "write it like dashboards: small letters, digits and hyphens",
  ).optional(),
  context: plainText("a context of the kubeconfig", "write its name").optional(),
  kubeconfig: filePath("a file", "/etc/groupsync/kubeconfig").optional(),
  key: textLike(
    /^(?!\.\.|\.$)[-.\w]{1,253}$/,
    "a key of a Secret's data",
    "write letters, digits, dots, dashes and underscores, like token",
  ).prefault("token"),
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
    z
      .array(
        tokenStore.transform(({ verify, ...keys }) => ({
          ...keys,
          ...(verify !== undefined && { verifyMs: verify }),
        })),
      )
      .min(1, "is an empty list; leave it out, or name one or more"),
  )
  .prefault({});
