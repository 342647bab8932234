import type { Query } from "../support/databases/database-server.ts";

/** Where the three things are that have to be equal. The judge asks in plain SQL and HTTP, and knows nothing of the program. */
export interface Case {
  /** Asks the customer's database. */
  readonly tenants: Query;
  /** Asks the database with the tokens. */
  readonly tokens: Query;
  readonly tokenTable: string;
  readonly service: { readonly baseUrl: string; readonly apiKey: string };
}

interface Group {
  readonly user_group_id: string;
  readonly name: string;
  readonly mapping: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly token: string;
}

/** What differs between the tenants, the service's groups and the stored tokens, a line for each difference. */
export async function judge({ tenants, tokens, tokenTable, service }: Case): Promise<readonly string[]> {
  const wanted = await tenants<{ id: string; company_name: string; warehouse: string; plan: string }>(
    "SELECT id, company_name, warehouse, plan FROM customers",
  );
  const stored = await tokens<{ user_group_id: string; token: string }>(
    `SELECT user_group_id, token FROM ${tokenTable}`,
  );
  const answer = await fetch(`${service.baseUrl}/sandbox/groups`, {
    headers: { authorization: `Token ${service.apiKey}` },
  });
  const { groups } = (await answer.json()) as { readonly groups: readonly Group[] };

  const groupOf = new Map(groups.map((group) => [group.user_group_id, group]));
  const tokenOf = new Map(stored.map(({ user_group_id, token }) => [user_group_id, token]));
  const isWanted = new Set(wanted.map(({ id }) => id));
  return [
    ...(groups.length === groupOf.size ? [] : ["the service has two groups with one id"]),
    ...wanted.flatMap(({ id, company_name, warehouse, plan }) => {
      const group = groupOf.get(id);
      if (!group) return [`${id} has no group`];
      const { name, mapping, properties } = group;
      const is = JSON.stringify([name, mapping, properties]);
      const should = JSON.stringify([company_name, { "40": warehouse }, { plan }]);
      return [
        ...(is === should ? [] : [`${id} is ${is} and should be ${should}`]),
        ...(tokenOf.get(id) === group.token ? [] : [`${id} has another token than the one that is stored`]),
      ];
    }),
    ...[...groupOf.keys()].filter((id) => !isWanted.has(id)).map((id) => `${id} has a group and no tenant`),
    ...[...tokenOf.keys()].filter((id) => !isWanted.has(id)).map((id) => `${id} has a token and no tenant`),
  ];
}
