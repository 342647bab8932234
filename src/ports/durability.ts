/** Whether the databases of the ledger and the tokens keep what was committed. */
export interface Durability {
  /** How many connections have broken so far. A server that crashed may have lost its last commits. */
  readonly broken: number;
  /** The server's settings by which a crash loses commits, and which a session can't change. Rejects as databases do. */
  risks(): Promise<readonly DurabilityRisk[]>;
}

export interface DurabilityRisk {
  /** As the server names it, with its value: `fsync = off`. */
  readonly setting: string;
  /** The value that takes the risk away. */
  readonly safe: string;
}
