import { hostClock } from "../adapters/host/clock.ts";
import type { Database } from "../adapters/sql/dialect/database.ts";
import { type LedgerBesideTokens, SqlTokenTable } from "../adapters/sql/tokens/token-table.ts";
import { compositeTokenStore } from "../adapters/token-stores/composite-token-store.ts";
import type { SecretStore } from "../adapters/token-stores/secret-store.ts";
import { SecretTokenStore } from "../adapters/token-stores/secret-token-store.ts";
import type { Config } from "../config/config.ts";
import { describeTokenDestinations } from "../config/descriptions.ts";
import type { SecretTokens } from "../config/token-stores.ts";
import type { Observe } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import type { Databases } from "./databases.ts";
import type { Opened } from "./opened.ts";

interface Self {
  /** The name of this config: it marks the tokens, and other configs leave them alone. */
  readonly scope: string;
  /** The user of this process. */
  readonly uid: number;
}

interface OpenLedger {
  readonly database: Database;
  readonly ledger: LedgerBesideTokens;
}

/**
 * Opens every token store that the config names. A token table in the ledger's database takes part in the ledger's
 * transactions. A secret store loads its vendor's client at its first use.
 */
export async function openTokens(
  { name, tokens }: Config,
  uid: number,
  databases: Databases,
  ledger?: OpenLedger,
  observe?: Observe,
): Promise<Opened<TokenStore>> {
  const openAll = (entries: Config["tokens"]) =>
    Promise.all(entries.map((entry) => openStore(entry, { scope: name, uid }, databases, ledger, observe)));
  // Secret stores first: a token is read from the first store that has it.
  const all = [
    ...(await openAll(tokens.filter(({ store }) => store !== "table"))),
    ...(await openAll(tokens.filter(({ store }) => store === "table"))),
  ];
  const [first, ...more] = all;
  if (first === undefined) throw new Error("there is no token store");
  return {
    value: more.length === 0 ? first.value : compositeTokenStore(all.map(({ value }) => value)),
    close: async () => {
      await Promise.all(all.map((store) => store.close()));
    },
  };
}

async function openStore(
  tokens: Config["tokens"][number],
  self: Self,
  databases: Databases,
  ledger: OpenLedger | undefined,
  observe: Observe | undefined,
): Promise<Opened<TokenStore>> {
  if (tokens.store === "table") {
    const [written] = describeTokenDestinations([tokens]);
    const database = await databases.open(tokens.url);
    const beside = ledger?.database === database ? ledger.ledger : undefined;
    const { table, rows, id_column: idColumn, token_column: tokenColumn, owner, notify } = tokens;
    const options = { table, written, rows, idColumn, tokenColumn, owner, notify };
    return { value: new SqlTokenTable(database, options, beside), close: async () => {} };
  }
  const secrets = await secretStore(tokens, self);
  return { value: new SecretTokenStore(secrets, tokens, hostClock, observe), close: () => secrets.close() };
}

async function secretStore(tokens: SecretTokens, { scope, uid }: Self): Promise<SecretStore> {
  switch (tokens.store) {
    case "file": {
      const { FileStore } = await import("../adapters/token-stores/file-store.ts");
      return new FileStore({ ...tokens, sharedDirectory: tokens.shared_directory, scope, uid });
    }
    case "vault": {
      const { vaultStore } = await import("../adapters/token-stores/vault-store.ts");
      return vaultStore({ ...tokens, scope }, hostClock);
    }
    case "aws_secrets_manager": {
      const { awsStore } = await import("../adapters/token-stores/aws-store.ts");
      return awsStore({ ...tokens, allowHttp: tokens.allow_http, scope });
    }
    case "gcp_secret_manager": {
      const { gcpStore } = await import("../adapters/token-stores/gcp-store.ts");
      return gcpStore({ ...tokens, scope });
    }
    case "azure_key_vault": {
      const { azureStore } = await import("../adapters/token-stores/azure-store.ts");
      return azureStore({ vaultUrl: tokens.vault_url, scope });
    }
    case "kubernetes": {
      const { kubernetesStore } = await import("../adapters/token-stores/kubernetes-store.ts");
      return kubernetesStore({ ...tokens, scope });
    }
  }
}
