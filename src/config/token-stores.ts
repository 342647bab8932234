import { z } from "zod";
import { fits, parseSecretPath } from "../core/secret-name.ts";
import { SECRET_NAMING, type SecretStoreKind } from "../core/secret-naming-by-store.ts";
import { existingRowsAreNamed } from "./consistency.ts";
import { column } from "./rules.ts";
import { choice, scalar, wanted } from "./scalars.ts";
import { section } from "./section.ts";
import { channel, credential, databaseUrl, duration, plainText, table, webAddress } from "./values.ts";
import { oneOrMore, variant } from "./variant.ts";

const SECRET_STORES = Object.keys(SECRET_NAMING) as SecretStoreKind[];

/** How often it is looked into, whether it still has what it should. */
const verify = duration((ms) => ms > 0, "a duration above zero", "write it like 24h").optional();

const tokenTable = section(
  {
    store: choice("table", ...SECRET_STORES).prefault("table"),
    url: databaseUrl.optional(),
    table: table.optional(),
    rows: choice("own", "existing").prefault("own"),
    id_column: column().optional(),
    token_column: column().optional(),
    notify: channel.optional(),
    verify,
  },
  existingRowsAreNamed,
).transform(({ table, id_column, token_column, ...keys }) => ({
  ...keys,
  store: "table" as const,
  table: table ?? "groupsync_tokens",
  idColumn: id_column ?? "user_group_id",
  tokenColumn: token_column ?? "token",
}));

/** Under which names this store takes secrets, and what is in them. */
const secrets = <Kind extends SecretStoreKind>(kind: Kind, path: string) => ({
  store: z.literal(kind),
  path: scalar(
    (template) => {
      const parsed = parseSecretPath(template);
      return parsed && fits(parsed, SECRET_NAMING[kind]) ? parsed : undefined;
    },
    wanted(
      `a path that ${kind} takes, with {{ user_group_id }} in it once`,
      `write it like ${path}, without anything that it forbids`,
    ),
  ).prefault(path),
  format: choice("token", "json").prefault("token"),
  verify,
});

const FOLDER = "dashboards/{{ user_group_id }}";
const PREFIX = "dashboards-{{ user_group_id }}";

const vaultLogin = variant("method", "token", {
  token: section({
    method: choice("token", "approle", "kubernetes").prefault("token"),
    token: credential,
  }).transform(({ token }) => ({ method: "token" as const, token })),
  approle: section({
    method: z.literal("approle"),
    mount: plainText("the path of a login", "write it like approle").prefault("approle"),
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
    mount: plainText("the path of a login", "write it like kubernetes").prefault("kubernetes"),
    role: plainText("a role", "write the one that the service account may take"),
    token_file: plainText("a file", "write the path of the service account's token").prefault(
      "/var/run/secrets/kubernetes.io/serviceaccount/token",
    ),
  }).transform(({ token_file, ...keys }) => ({ ...keys, tokenFile: token_file })),
});

const tokenStore = variant("store", "table", {
  table: tokenTable,
  file: section({
    ...secrets("file", "{{ user_group_id }}"),
    directory: plainText("a directory", "write it like /var/lib/groupsync/tokens"),
  }),
  vault: section({
    ...secrets("vault", FOLDER),
    address: webAddress,
    mount: plainText("the path of a KV version 2 engine", "write it like secret").prefault("secret"),
    namespace: plainText("a namespace", "write it like teams/data").optional(),
    auth: vaultLogin,
  }),
  aws_secrets_manager: section({
    ...secrets("aws_secrets_manager", FOLDER),
    region: plainText("a region", "write it like eu-central-1").optional(),
    endpoint: webAddress.optional(),
  }),
  gcp_secret_manager: section({
    ...secrets("gcp_secret_manager", PREFIX),
    project: plainText("a project", "write the id of the project"),
    endpoint: webAddress.optional(),
  }),
  azure_key_vault: section({ ...secrets("azure_key_vault", PREFIX), vault_url: webAddress }).transform(
    ({ vault_url, ...keys }) => ({ ...keys, vaultUrl: vault_url }),
  ),
  kubernetes: section({
    ...secrets("kubernetes", PREFIX),
    namespace: plainText("a namespace", "write it like dashboards").optional(),
    context: plainText("a context of the kubeconfig", "write its name").optional(),
    kubeconfig: plainText("a file", "write the path of a kubeconfig").optional(),
    key: plainText("a key of a Secret's data", "write it like token").prefault("token"),
  }),
});

/** The keys of `tokens`, which are others for each store; or a list of several. */
export const tokenStores = oneOrMore(
  tokenStore.transform(({ verify, ...keys }) => ({
    ...keys,
    ...(verify !== undefined && { verifyMs: verify }),
  })),
);
