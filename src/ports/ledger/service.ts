/** Which service the ledger's groups live in. Null: not known yet. */
export interface KnownService {
  readonly baseUrl: string | null;
  readonly teamId: number | null;
  /** Whether a GET changes an existing group. */
  readonly updates: boolean | null;
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
  bindService(service: KnownService): Promise<void>;
  /** Records the intent to make a canary, before its first call. There is one at a time. */
  beginCanary(canary: Canary, now: Date): Promise<void>;
  /** The service doesn't have the canary any more, or never had it. */
  forgetCanary(): Promise<void>;
}
