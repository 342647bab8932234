import { z } from "zod";
import { fits, parseSecretPath } from "../core/secret-name.ts";
import { SECRET_NAMING, type SecretStoreKind } from "../core/secret-naming-by-store.ts";
import { existingRowsAreNamed } from "./consistency.ts";
import { column } from "./rules.ts";
import { choice, scalar, wanted } from "./scalars.ts";
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

/** It goes into the path of a request as it is. */
const vaultPath = (what: string, example: string) =>
  textLike(
    /^\/?(?:(?!\.{1,2}\/)[\w.~@+=:-]+\/)*(?!\.{1,2}\/?$)[\w.~@+=:-]+\/?$/,
    what,
    `write it like ${example}`,
  );

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
    method: choice("token", "approle", "kubernetes").prefault("token"),
    token: credential,
  }).transform(({ token }) => ({ method: "token" as const, token })),
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
    ...secrets("file", "{{ user_group_id }}"),
    directory: filePath("a directory", "/var/lib/groupsync/tokens"),
  }),
  vault: section({
    ...secrets("vault", FOLDER),
    address: webAddress("the address of a server", "write it like https://vault.internal:8200"),
    mount: vaultPath("the path of a KV version 2 engine", "secret").prefault("secret"),
    namespace: vaultPath("a namespace", "teams/data").optional(),
    auth: vaultLogin,
  }),
  aws_secrets_manager: section({
    ...secrets("aws_secrets_manager", FOLDER),
    region: textLike(
      /^[a-z0-9]+(?:-+[a-z0-9]+)*$/,
      "a region",
      "write its code, like eu-central-1",
    ).optional(),
    endpoint: webAddress(
      "the address of an endpoint",
      "write it like https://vpce-0a1b.secretsmanager.eu-central-1.vpce.amazonaws.com",
    ).optional(),
  }),
  gcp_secret_manager: section({
    ...secrets("gcp_secret_manager", PREFIX),
    project: gcpProject,
    endpoint: webAddress(
      "the address of an endpoint",
      "write it like https://secretmanager.europe-west3.rep.googleapis.com, without a path",
      hasNoPath,
    ).optional(),
  }),
  azure_key_vault: section({
    ...secrets("azure_key_vault", PREFIX),
    vault_url: webAddress(
      "the address of a vault",
      "write it like https://my-vault.vault.azure.net, without a path",
      (url) => url.protocol === "https:" && hasNoPath(url),
    ),
  }).transform(({ vault_url, ...keys }) => ({ ...keys, vaultUrl: vault_url })),
  kubernetes: section({
    ...secrets("kubernetes", PREFIX),
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
