import type { ChangedRow, ChangePosition, NewestChange } from "../core/changes/change-window.ts";
import type { SyncError } from "../core/failure/sync-error.ts";

/** The change column of the tenants (`source.changes.column`). */
export interface ChangeFeed {
  /**
   * Opens a connection for many lookups. `before` is the table that the last run read.
   * Rejects as `TenantSource.open` does, and with CONFIG_COLUMNS if there is no such column or if its type isn't one that
   * grows with each change.
   */
  open(stop: AbortSignal, before?: string | null): Promise<ChangeReader>;
}

/** Its methods reject as `open` does. After a rejection the reader has to be closed. Each lookup sees its own moment. */
export interface ChangeReader {
  /** The type of the column. Values of another type can't be compared with values from before. */
  readonly type: string;
  /** The newest value; null if no row has one. Looks at all rows, also at those that `source.where` leaves out. */
  newest(): Promise<NewestChange | null>;
  /**
   * The rows of tenants from a position on, in the order of their values, and no more than `limit`. Leaves out rows whose
   * value is further ahead of the database's clock than `MOST_AHEAD_MS`. If the type of the column doesn't tell the time
   * zone, the limit is generous enough for every zone.
   */
  rows(from: ChangePosition, limit: number): Promise<readonly ChangedRow[]>;
  /** What would help if the database reads the whole source to answer `rows(from)`. Null if it has an index for that. */
  missingIndex(from: ChangePosition): Promise<string | null>;
  /** Idempotent. Never rejects. */
  close(): Promise<void>;
}

/** The channel on which the customer's database names changed tenants (`source.changes.channel`). */
export interface ChangeChannel {
  /**
   * Opens a connection of its own, listens, and resolves once a notification from another connection has arrived. `onPayload`
   * gets the payload of each notification but groupsync's own. Rejects as `OpenChannel.probe` does, with CONFIG_TLS, and
   * behind any pooler with CHANGES_NOT_HEARD.
   */
  open(onPayload: (payload: string) => void, stop: AbortSignal): Promise<OpenChannel>;
}

export interface OpenChannel {
  /** Resolves once the connection is lost, with the reason. */
  readonly lost: Promise<SyncError>;
  /**
   * Resolves if a notification from another connection arrives. Rejects with CHANGES_NOT_HEARD if none does; with
   * SOURCE_UNAVAILABLE if the connection is lost, or if the database doesn't answer in time; with INTERRUPTED once `stop`
   * aborts.
   */
  probe(): Promise<void>;
  /** Idempotent. Never rejects. */
  close(): Promise<void>;
}
