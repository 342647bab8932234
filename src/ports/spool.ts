/** A list that is written once and then read any number of times. Its use of memory doesn't grow with its length. */
export interface Spool<T> {
  readonly length: number;
  append(item: T): void;
  /** In the order of appending, in batches. After the first call, nothing may be appended. */
  read(): AsyncIterable<readonly T[]>;
  /** Gives back its memory and disk space. Idempotent. */
  close(): void;
}

export type OpenSpool = <T>() => Spool<T>;
