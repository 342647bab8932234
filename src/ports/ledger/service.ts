/** Which service the ledger's groups live in. Null: not known yet. */
export interface KnownService {
  readonly baseUrl: string | null;
  readonly teamId: number | null;
  /** Whether a GET changes an existing group. */
  readonly updates: boolean | null;
}

export interface ServiceReads {
  service(): Promise<KnownService>;
}

export interface ServiceWrites {
  bindService(service: KnownService): Promise<void>;
}
