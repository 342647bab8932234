import { hostClock } from "./adapters/host/clock.ts";
import type { Database } from "./adapters/sql/database.ts";
import { SqlTokenTable } from "./adapters/sql/token-table.ts";
import { AwsStore } from "./adapters/token-stores/aws.ts";
import { AzureStore } from "./adapters/token-stores/azure.ts";
import { FileStore } from "./adapters/token-stores/file.ts";
import { GcpStore } from "./adapters/token-stores/gcp.ts";
import { KubernetesStore } from "./adapters/token-stores/kubernetes.ts";
import type { SecretStore } from "./adapters/token-stores/secret-store.ts";
import { SecretTokens } from "./adapters/token-stores/secret-tokens.ts";
import { SeveralStores } from "./adapters/token-stores/several.ts";
import { VaultStore } from "./adapters/token-stores/vault.ts";
import type { Opened } from "./commands/io.ts";
import type { Config, DatabaseUrl, SecretTokenConfig, TokenConfig } from "./config/config.ts";
import type { TokenStore } from "./ports/token-store.ts";

/** Where the tokens go. A secret store loads its vendor's client when it is first used. */
export function openTokens(
  { name, tokens }: Config,
  openDatabase: (url: DatabaseUrl) => Database,
): Opened<TokenStore> {
  const open = (entry: TokenConfig) => openStore(entry, name, openDatabase);
  const tables = tokens.filter(({ store }) => store === "table").map(open);
  const others = tokens.filter(({ store }) => store !== "table").map(open);
  const all = [...others, ...tables];
  const [first, ...more] = all;
  if (first === undefined) throw new Error("there is no token store");
  const values = (stores: readonly Opened<TokenStore>[]) => stores.map(({ value }) => value);
  return {
    value: more.length === 0 ? first.value : new SeveralStores(values(others), values(tables)),
    close: async () => {
      await Promise.all(all.map((store) => store.close()));
    },
  };
}

function openStore(
  tokens: TokenConfig,
  name: string,
  openDatabase: (url: DatabaseUrl) => Database,
): Opened<TokenStore> {
  if (tokens.store === "table") {
    return { value: new SqlTokenTable(openDatabase(tokens.url), tokens), close: async () => {} };
  }
  const secrets = secretStore(tokens, name);
  return { value: new SecretTokens(secrets, tokens, hostClock), close: () => secrets.close() };
}

/** `scope` marks what is this config's: another one leaves it alone. */
function secretStore(tokens: SecretTokenConfig, scope: string): SecretStore {
  switch (tokens.store) {
    case "file":
      return new FileStore({ ...tokens, scope });
    case "vault":
      return new VaultStore({ ...tokens, scope }, hostClock);
    case "aws_secrets_manager":
      return new AwsStore({ ...tokens, scope });
    case "gcp_secret_manager":
      return new GcpStore({ ...tokens, scope });
    case "azure_key_vault":
      return new AzureStore({ ...tokens, scope });
    case "kubernetes":
      return new KubernetesStore({ ...tokens, scope });
  }
}
