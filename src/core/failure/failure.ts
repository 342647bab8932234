/** Why something failed. `code` is stable and documented; `message` is for an operator, and holds no token and no key. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The operator named a tenant that is gone. Without this failure, exit 0 would claim that the tenant is in sync. */
export const tenantGone = (message: string): Failure => ({ code: "TENANT_GONE", message });

export const isTenantGone = ({ code }: Pick<Failure, "code">): boolean => code === "TENANT_GONE";

/** Whether the operator's command was wrong. Such a run says nothing about the health of groups, source or service. */
export const isUsageMistake = ({ code }: Pick<Failure, "code">): boolean => code === "UNKNOWN_ID";

/** Whether nothing is wrong: the run was told to stop, or another instance holds the lease. */
export const isNoFault = ({ code }: Failure): boolean => code === "INTERRUPTED" || code === "LEASE_HELD";
