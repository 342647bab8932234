import type { ObjectRule } from "../../core/group/group-rules.ts";
import { type Finding, warning } from "../../core/report/finding.ts";

/** Warns if no schema gets the tenant's data source: that may be meant, and nothing else would show it. */
export function* mappingFindings(mapping: ObjectRule): Generator<Finding> {
  if (mapping.kind === "json" || Object.keys(mapping.keys).length > 0) return;
  yield warning(
    "group.mapping is empty: each group sees the default data source of each schema",
    "if that is not meant, write the id of each schema there, and the column that has the tenant's data source",
  );
}
