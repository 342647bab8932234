import { hostClock } from "./adapters/host/clock.ts";
import type { Database } from "./adapters/sql/database.ts";
import { SqlTokenTable } from "./adapters/sql/token-table.ts";
import type { SecretStore } from "./adapters/token-stores/secret-store.ts";
import { SecretTokens } from "./adapters/token-stores/secret-tokens.ts";
import { SeveralStores } from "./adapters/token-stores/several.ts";
import type { Opened } from "./commands/io.ts";
import type { Config, DatabaseUrl, SecretTokenConfig, TokenConfig } from "./config/config.ts";
import { describeTokenPlaces } from "./config/token-places.ts";
import type { TokenStore } from "./ports/token-store.ts";

interface Self {
  /** Marks what is this config's: another one leaves it alone. */
  readonly scope: string;
  /** The user of this process. */
  readonly uid: number;
}

type OpenDatabase = (url: DatabaseUrl) => Promise<Database>;

/** Where the tokens go. A secret store loads its vendor's client when it is first used. */
export async function openTokens(
  { name, tokens }: Config,
  uid: number,
  openDatabase: OpenDatabase,
): Promise<Opened<TokenStore>> {
  const openAll = (entries: readonly TokenConfig[]) =>
    Promise.all(entries.map((entry) => openStore(entry, { scope: name, uid }, openDatabase)));
  const tables = await openAll(tokens.filter(({ store }) => store === "table"));
  const others = await openAll(tokens.filter(({ store }) => store !== "table"));
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

async function openStore(
  tokens: TokenConfig,
  self: Self,
  openDatabase: OpenDatabase,
): Promise<Opened<TokenStore>> {
  if (tokens.store === "table") {
    const [written] = describeTokenPlaces([tokens]);
    const database = await openDatabase(tokens.url);
    return { value: new SqlTokenTable(database, { ...tokens, written }), close: async () => {} };
  }
  const secrets = await secretStore(tokens, self);
  return { value: new SecretTokens(secrets, tokens, hostClock), close: () => secrets.close() };
}

async function secretStore(tokens: SecretTokenConfig, { scope, uid }: Self): Promise<SecretStore> {
  switch (tokens.store) {
    case "file": {
      const { FileStore } = await import("./adapters/token-stores/file.ts");
      return new FileStore({ ...tokens, scope, uid });
    }
    case "vault": {
      const { VaultStore } = await import("./adapters/token-stores/vault.ts");
      return new VaultStore({ ...tokens, scope }, hostClock);
    }
    case "aws_secrets_manager": {
      const { AwsStore } = await import("./adapters/token-stores/aws.ts");
      return new AwsStore({ ...tokens, scope });
    }
    case "gcp_secret_manager": {
      const { GcpStore } = await import("./adapters/token-stores/gcp.ts");
      return new GcpStore({ ...tokens, scope });
    }
    case "azure_key_vault": {
      const { AzureStore } = await import("./adapters/token-stores/azure.ts");
      return new AzureStore({ ...tokens, scope });
    }
    case "kubernetes": {
      const { KubernetesStore } = await import("./adapters/token-stores/kubernetes.ts");
      return new KubernetesStore({ ...tokens, scope });
    }
  }
}
