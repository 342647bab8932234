import type * as z from "zod";
import { crossChecks } from "./cross-checks.ts";
import { type ConfigFile, configFile } from "./schema.ts";
import { completeStore } from "./token-stores.ts";

/** What one section takes from another; and the groups, deletions, rotations and ledger in the words of core. */
const complete = ({ source, group, tokens, ledger, deletion, rotation, ...rest }: ConfigFile) => {
  const { data_source_provided_id: dataSourceId, ...rules } = group;
  return {
    ...rest,
    source,
    group: { ...rules, ...(dataSourceId && { dataSourceId }) },
    tokens: tokens.map((store) => completeStore(store, source.url)),
    ledger: {
      url: ledger.url ?? source.url,
      ...ledger.table_prefix,
      /** PostgreSQL roles that may own the ledger's tables, too. */
      owners: tokens.flatMap((store) => ("owner" in store ? store.owner : [])),
    },
    deletion: { when: deletion.when, gracePeriodMs: deletion.grace_period, limit: deletion.limit },
    rotation: {
      maxAgeMs: rotation.max_age ?? null,
      window: rotation.window ? { ...rotation.window, timeZone: rest.timezone } : null,
      maxPerRun: rotation.max_per_run ?? null,
      concurrency: rotation.concurrency,
    },
  };
};

/** The schema of the config file: from its text as data to the complete config, with durations in milliseconds. */
export const configSchema = configFile.superRefine(crossChecks, { when: () => true }).transform(complete);

/** The config file, checked and complete. Its keys have the names that they have in the file. */
export type Config = z.output<typeof configSchema>;
