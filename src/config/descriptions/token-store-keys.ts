import type { SecretStoreKind } from "../../core/tokens/secrets.ts";
import type { Description, Descriptions } from "./description.ts";

const verify: Description = {
  text:
    "How often a sync checks that the store still has every token, and writes again what somebody removed or " +
    "changed. `groupsync sync --verify-tokens` does so at once.",
  otherwise: "never",
};

/** The keys that all secret stores have. */
const secrets = (store: string, see: string): Descriptions => ({
  store: { text: `${store}.`, see: `token-stores/${see}` },
  path: "The name of a tenant's secret. It has `{{ user_group_id }}` in it once.",
  format:
    "What a secret holds. `token`: the bare token. `json`: an object with `user_group_id`, `token` and `rotated_at`.",
  verify,
});

const table: Descriptions = {
  store: {
    text: "A table of a database. If `store` is left out, it is this kind.",
    otherwise: "`table`",
    see: "token-stores/table.md",
  },
  url: { text: "The database with the token table.", otherwise: "`source.url`" },
  table: {
    text: "The token table. With `rows: own` groupsync creates it if it is missing.",
    otherwise: "`groupsync_tokens`",
  },
  rows:
    "`own`: groupsync inserts and deletes the table's rows. `existing`: it fills a column of rows that are there, such " +
    "as your customers, and clears it when the group is deleted. Then `table`, `id_column` and `token_column` are required.",
  owner: {
    text:
      "On PostgreSQL: another role that may own the token table and the ledger's tables. Whoever owns them reads the " +
      "tokens, and can run code as groupsync's role.",
    otherwise: "groupsync's role, or a group role that it inherits from",
    see: "security.md",
  },
  id_column: { text: "The column with the tenant's id.", otherwise: "`user_group_id`" },
  token_column: { text: "The column that gets the token.", otherwise: "`token`" },
  notify: {
    text:
      "A PostgreSQL channel that gets the `user_group_id` with each new token, so that your application reads the " +
      "token again: small letters, digits and `_`. MySQL has no channels.",
    otherwise: "nobody is notified",
    see: "application.md",
  },
  verify,
};

const vaultLogin: Description = {
  text: "How groupsync logs in to Vault. `method` says which way: `token` (if it is left out), `approle` or `kubernetes`.",
  kinds: {
    token: {
      method: { text: "A token that you give.", otherwise: "`token`" },
      token: "The token, from the environment or from a file.",
    },
    approle: {
      method: "The AppRole login.",
      mount: "The path of that login in Vault.",
      role_id: "The role_id of the AppRole.",
      secret_id: "Its secret_id, from the environment or from a file.",
    },
    kubernetes: {
      method: "The login of a Kubernetes service account.",
      mount: "The path of that login in Vault.",
      role: "The role that the service account may take.",
      token_file: "The file with the service account's token.",
    },
  },
};

/** The keys of each token store. */
export const TOKEN_STORE_KEYS: Readonly<Record<SecretStoreKind | "table", Descriptions>> = {
  table,
  file: {
    ...secrets("A directory with one file for each group", "files.md"),
    path: "The file of a tenant, below the directory. It has `{{ user_group_id }}` in it once; folders are possible.",
    directory:
      "The directory. At first it has to be empty, or not there yet; from then on it is groupsync's alone.",
    shared_directory: "Whether the directory's group may write to it.",
  },
  vault: {
    ...secrets("HashiCorp Vault or OpenBao", "vault.md"),
    address: "Where Vault is.",
    allow_http:
      "Whether `address` may be `http:` and lead to another host. Anybody in between can read the tokens then.",
    mount: "The path of a KV version 2 engine.",
    namespace: { text: "The namespace.", otherwise: "none" },
    auth: vaultLogin,
  },
  aws_secrets_manager: {
    ...secrets("AWS Secrets Manager", "aws.md"),
    region: { text: "The region.", otherwise: "`AWS_REGION`, or the profile's region" },
    endpoint: { text: "An endpoint of your own, such as a VPC endpoint.", otherwise: "AWS's endpoint" },
    allow_http:
      "Whether the endpoint may be `http:` and lead to another host. Anybody in between can read the tokens then.",
  },
  gcp_secret_manager: {
    ...secrets("Google Cloud Secret Manager", "gcp.md"),
    project: "The project, by its id or its number.",
    endpoint: {
      text: "Another endpoint. One with `http:` is taken for an emulator, which needs no credentials.",
      otherwise: "Google's endpoint",
    },
    allow_http:
      "Whether `endpoint` may be `http:` and lead to another host. Anybody in between can read the tokens then.",
  },
  azure_key_vault: {
    ...secrets("Azure Key Vault", "azure.md"),
    vault_url: "The vault.",
  },
  kubernetes: {
    ...secrets("Kubernetes Secrets", "kubernetes.md"),
    namespace: { text: "The namespace.", otherwise: "the service account's, or the context's" },
    context: { text: "The context of the kubeconfig.", otherwise: "its current context" },
    kubeconfig: {
      text: "The kubeconfig.",
      otherwise: "the cluster that groupsync runs in, else `KUBECONFIG`, else `~/.kube/config`",
    },
    key: "The key of the Secret's data that gets the token.",
  },
};
