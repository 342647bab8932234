import { SyncError } from "./sync-error.ts";

/** Columns that the config names, and that the source doesn't have. */
export class MissingColumns extends SyncError<"CONFIG_COLUMNS"> {
  /** The source, for messages. */
  readonly source: string;
  readonly missing: readonly string[];
  readonly there: readonly string[];

  constructor(source: string, missing: readonly string[], there: readonly string[]) {
    super("CONFIG_COLUMNS", `${source} has no column ${missing.join(", ")}`, {
      hint: `its columns, as the config has to write them: ${there.join(", ")}`,
    });
    this.source = source;
    this.missing = missing;
    this.there = there;
  }
}
