/**
 * What a key of the config means. `groupsync schema` prints these texts for editors, and docs/configuration.md has them
 * too. Backticks mark code; the schema leaves them out, because editors show plain text.
 */
export interface Description {
  readonly text: string;
  /** What holds if the key is left out. Only for a key without a default of its own. */
  readonly otherwise?: string;
  /** The page of docs/ that says more. */
  readonly see?: string;
  /** Of a section: its keys. */
  readonly keys?: Descriptions;
  /** Of a section of several kinds: the keys of each, by the value of the key that says the kind. */
  readonly kinds?: Readonly<Record<string, Descriptions>>;
}

/** A description of text alone may stand as text. */
export type Descriptions = Readonly<Record<string, Description | string>>;

export const describing = (described: Description | string): Description =>
  typeof described === "string" ? { text: described } : described;
