/** A list that is written once and then read, any number of times, without growing the memory. */
export interface Spool<T> {
  readonly length: number;
  append(item: T): void;
  /** In the order of appending, in batches. Nothing may be appended any more. */
  read(): AsyncIterable<readonly T[]>;
  /** Gives back what it holds. Idempotent. */
  close(): void;
}

export type OpenSpool = <T>() => Spool<T>;
