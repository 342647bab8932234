import { digestSeed } from "../../core/group/desired-group.ts";
import type { Group } from "../../core/group/group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import { printable, printableId } from "../../core/text/printable.ts";
import { readTenants } from "../../engine/plan/read-tenants.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";

/** The rows of a source as a sync would see them. */
export async function exampleTenants(
  source: TenantSource,
  rules: GroupRules,
  stop: AbortSignal,
): Promise<readonly Tenant[]> {
  const snapshot = await source.open(columnsOf(rules), digestSeed(rules), stop);
  try {
    const tenants: Tenant[] = [];
    for await (const batch of readTenants(snapshot.rows(), rules)) tenants.push(...batch);
    return tenants;
  } finally {
    await snapshot.close();
  }
}

const SHOWN = 3;

/** A few of the tenants, with one that is rejected, if there is one. */
export function examplesAmong(tenants: readonly Tenant[]): readonly Tenant[] {
  const rejected = tenants.find(({ kind }) => kind === "rejected");
  const others = tenants.filter((tenant) => tenant !== rejected).slice(0, rejected ? SHOWN - 1 : SHOWN);
  return tenants.filter((tenant) => tenant === rejected || others.includes(tenant));
}

export function exampleText(tenants: readonly Tenant[]): string {
  if (tenants.length === 0) return "  There is no row yet.\n";
  return tenants
    .flatMap(linesOf)
    .map((line) => `  ${line}\n`)
    .join("");
}

function linesOf(tenant: Tenant): readonly string[] {
  const id = printableId(tenant.user_group_id);
  switch (tenant.kind) {
    case "desired":
      return [`+ ${id}  ${value(tenant.group.name)}`, ...details(tenant.group)];
    case "rejected":
      return [`! ${id}  rejected: ${printable(tenant.message)}`];
    case "flagged":
      return [`- ${id}  no group: source.removed_when says that its tenant is gone`];
    case "not_ready":
      return [`= ${id}  no group yet: source.ready_when is not true of its row`];
  }
}

const details = ({ mapping, properties }: Group): readonly string[] =>
  Object.entries({ mapping, properties }).flatMap(([section, values]) =>
    Object.entries(values).map(([key, one]) => `    ${section}.${printable(key)}: ${value(one)}`),
  );

const value = (one: unknown): string => printable(JSON.stringify(one));
