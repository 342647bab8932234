import { z } from "zod";
import { SECRET_NAMING, type SecretStoreKind } from "../core/secret-naming-by-store.ts";
import { existingRowsAreNamed } from "./consistency.ts";
import { allowHttp, httpIsAllowed } from "./plain-http.ts";
import { column } from "./rules.ts";
import { choice, flag } from "./scalars.ts";
import { secretPath } from "./secret-path.ts";
import { section } from "./section.ts";
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
import { oneOrMore, variant } from "./variant.ts";

/** How often the store is looked through for tokens that somebody has removed or changed. */
const verify = duration((ms) => ms > 0, "a duration above zero", "write it like 24h").optional();

const tokenTable = section(
  {
    store: z.literal("table").prefault("table"),
    url: databaseUrl.optional(),
    table: table.optional(),
    rows: choice("own", "existing").prefault("own"),
    owner: plainText("the name of a role", "write it like app, as PostgreSQL's \\du shows it").optional(),
    id_column: column().optional(),
    token_column: column().optional(),
    notify: channel.optional(),
    verify,
  },
  existingRowsAreNamed,
).transform(({ table, id_column, token_column, ...keys }) => ({
  ...keys,
  table: table ?? "groupsync_tokens",
  idColumn: id_column ?? "user_group_id",
  tokenColumn: token_column ?? "token",
}));

/** Under which names this store takes secrets, and what is in them. `allowed` is what a path may have around the id. */
const secrets = <Kind extends SecretStoreKind>(kind: Kind, path: string, allowed: string) => ({
  store: z.literal(kind),
  path: secretPath(SECRET_NAMING[kind], path, allowed).prefault(path),
  format: choice("token", "json").prefault("token"),
  verify,
});

/** Goes into the path of a request as it is; the slashes around it, which Vault itself shows, are left out. */
const vaultPath = (what: string, example: string) =>
  textLike(
    /^\/?(?:(?!\.{1,2}\/)[\w.~@+=:-]+\/)*(?!\.{1,2}\/?$)[\w.~@+=:-]+\/?$/,
    what,
    `write it like ${example}`,
  ).transform((path) => path.replace(/^\/|\/$/g, ""));

/** An id, also one of the old kind that is scoped to a domain, or a number, which YAML takes for a number. */
const gcpProject = z.preprocess(
  (value) => (typeof value === "number" ? String(value) : value),
  textLike(
    /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$|^[1-9]\d*$/,
    "the id or number of a project",
    "write it like crm-prod-4711: 6 to 30 small letters, digits and hyphens",
  ),
);

const hasNoPath = ({ pathname }: URL): boolean => pathname === "/";

const FOLDER = "dashboards/{{ user_group_id }}";
const PREFIX = "dashboards-{{ user_group_id }}";

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

const vaultLogin = variant("method", "token", {
  token: section({
    method: z.literal("token").prefault("token"),
    token: credential,
  }),
  approle: section({
    method: z.literal("approle"),
    mount: vaultPath("the path of a login", "approle").prefault("approle"),
    role_id: plainText("the id of a role", "write the role_id of the AppRole"),
    secret_id: credential,
  }).transform(({ method, mount, role_id, secret_id }) => ({
    method,
    mount,
    roleId: role_id,
    secretId: secret_id,
  })),
  kubernetes: section({
    method: z.literal("kubernetes"),
    mount: vaultPath("the path of a login", "kubernetes").prefault("kubernetes"),
    role: plainText("a role", "write the one that the service account may take"),
    token_file: filePath("a file", SERVICE_ACCOUNT_TOKEN).prefault(SERVICE_ACCOUNT_TOKEN),
  }).transform(({ token_file, ...keys }) => ({ ...keys, tokenFile: token_file })),
});

const tokenStore = variant("store", "table", {
  table: tokenTable,
  file: section({
    ...secrets("file", "{{ user_group_id }}", "letters, digits, _ and -, with / between folders"),
    directory: filePath("a directory", "/var/lib/groupsync/tokens"),
    shared_directory: flag.prefault(false),
  }).transform(({ shared_directory, ...keys }) => ({ ...keys, sharedDirectory: shared_directory })),
  vault: section(
    {
      ...secrets("vault", FOLDER, "letters, digits, _, . and -, with / between folders"),
      address: webAddress("the address of a server", "write it like https://vault.internal:8200"),
      allow_http: allowHttp,
      mount: vaultPath("the path of a KV version 2 engine", "secret").prefault("secret"),
      namespace: vaultPath("a namespace", "teams/data").optional(),
      auth: vaultLogin,
    },
    httpIsAllowed("address"),
  ).transform(({ allow_http, ...keys }) => keys),
  aws_secrets_manager: section(
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
  ).transform(({ allow_http, ...keys }) => ({ ...keys, allowHttp: allow_http })),
  gcp_secret_manager: section(
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
  ).transform(({ allow_http, ...keys }) => keys),
  azure_key_vault: section({
    ...secrets("azure_key_vault", PREFIX, "small letters, digits and -"),
    vault_url: webAddress(
      "the address of a vault",
      "write it like https://my-vault.vault.azure.net, without a path",
      (url) => url.protocol === "https:" && hasNoPath(url),
    ),
  }).transform(({ vault_url, ...keys }) => ({ ...keys, vaultUrl: vault_url })),
  kubernetes: section({
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
  }),
});

/** The keys of `tokens`, which are others for each store; or a list of several. */
export const tokenStores = oneOrMore(
  tokenStore.transform(({ verify, ...keys }) => ({
    ...keys,
    ...(verify !== undefined && { verifyMs: verify }),
  })),
);
