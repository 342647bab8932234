/** Which service the ledger's groups live in. Null: not known yet. */
export interface BoundService {
  readonly baseUrl: string | null;
  readonly teamId: number | null;
  /** Whether a GET changes an existing group. */
  readonly updates: boolean | null;
  /** Whether a probe has found out `updates`. What single groups show doesn't overrule it. */
  readonly isProbed: boolean;
}

export interface KnownService extends BoundService {
  /** When the service last answered well, to the minute; null if it never did. */
  readonly answeredAt: Date | null;
}

/** A group that `probe` makes at a service, and deletes again. It belongs to no tenant. */
export interface Canary {
  readonly user_group_id: string;
  readonly baseUrl: string;
}

export interface ServiceReads {
  service(): Promise<KnownService>;
  /** The canary that a probe has begun to make, and that the service may still have; null if there is none. */
  canary(): Promise<Canary | null>;
}

export interface ServiceWrites {
  bindService(service: BoundService): Promise<void>;
  /** The service has answered well. Changes nothing before `bindService`. */
  recordAnswer(at: Date): Promise<void>;
  /** Records the intent to make a canary, before its first call. There is one at a time. */
  beginCanary(canary: Canary, now: Date): Promise<void>;
  /** The service doesn't have the canary any more, or never had it. */
  forgetCanary(): Promise<void>;
}
