/** Why something failed. `code` is stable and documented; `message` is for an operator, and holds no token and no key. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The operator named a tenant that is gone. Without this failure, exit 0 would claim that the tenant is in sync. */
export const tenantGone = (message: string): Failure => ({ code: "TENANT_GONE", message });

export const isTenantGone = ({ code }: Pick<Failure, "code">): boolean => code === "TENANT_GONE";

/** The operator named a tenant that has to wait: nothing is wrong, but exit 0 would claim that the tenant is in sync. */
export const tenantNotReady = (): Failure => ({
  code: "NOT_READY",
  message: "the tenant waits: source.ready_when is not true of its row",
});

export const isTenantNotReady = ({ code }: Pick<Failure, "code">): boolean => code === "NOT_READY";

/** The host and the ledger's database tell times too different for any group to be removed. */
export const clockDiffers = (message: string): Failure => ({ code: "CLOCK_DIFFERS", message });

export const isClockDifference = ({ code }: Pick<Failure, "code">): boolean => code === "CLOCK_DIFFERS";

/** Whether the operator's command was wrong. Such a run says nothing about the health of groups, source or service. */
export const isUsageMistake = ({ code }: Pick<Failure, "code">): boolean =>
  code === "UNKNOWN_ID" || code === "UNKNOWN_SCOPE";

/** Whether the run ended before its work was done, because it was told to stop or another instance asked for the lease. */
export const isInterruption = ({ code }: Pick<Failure, "code">): boolean =>
  code === "INTERRUPTED" || isHandOver({ code });

/** Whether a command asked for the lease of the run. The daemon goes on after that command. */
export const isHandOver = ({ code }: Pick<Failure, "code">): boolean => code === "LEASE_HANDED_OVER";

/** Whether nothing is wrong: the run was interrupted, or another instance holds the lease. */
export const isNoFault = (failure: Pick<Failure, "code">): boolean =>
  isInterruption(failure) || failure.code === "LEASE_HELD";
