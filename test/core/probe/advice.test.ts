import { expect, test } from "vitest";
import { adviceFor, type ProbedConfig } from "../../../src/core/probe/advice.ts";
import {
  type DeleteField,
  type DeleteTry,
  findingsOf,
  type ProbeFindings,
} from "../../../src/core/probe/findings.ts";
import { column } from "../../builders/rules.ts";

interface Configured {
  readonly update?: ProbedConfig["service"]["update"];
  readonly when?: ProbedConfig["deletion"]["when"];
  readonly maxAgeMs?: number;
  readonly namesDataSource?: true;
}

function advised(
  findings: Partial<ProbeFindings>,
  { update = "upsert", when = "absent", maxAgeMs, namesDataSource }: Configured = {},
): string[] {
  const config: ProbedConfig = {
    service: { update },
    deletion: { when },
    rotation: { maxAgeMs: maxAgeMs ?? null },
    group: namesDataSource ? { dataSourceId: column("warehouse") } : {},
  };
  return adviceFor({ ...findingsOf({ deletes: [] }), ...findings }, config).map(
    ({ level, message, hint }) => `${level}: ${message}${hint === undefined ? "" : ` (${hint})`}`,
  );
}

const BY_ID: readonly DeleteField[] = ["current_token", "user_group_id"];
const tried = (result: DeleteTry["result"], fields = BY_ID): DeleteTry => ({ fields, result, text: null });

test("nothing follows from nothing", () => {
  expect(advised({})).toEqual([]);
});

test.each<[NonNullable<ProbeFindings["update"]>, ProbedConfig["service"]["update"], string | null]>([
  ["updates", "upsert", "ok: service.update: upsert is right"],
  ["updates", "replace", "warning: service.update: replace is not needed"],
  ["updates", "never", null],
  ["keeps", "upsert", "warning: service.update: upsert can't change an existing group"],
  ["keeps", "replace", "ok: service.update: replace is right"],
  ["keeps", "never", null],
  ["only the answer", "upsert", "warning: service.update: upsert can't change an existing group"],
  ["only the answer", "replace", "ok: service.update: replace is right"],
  ["only the answer", "never", null],
  ["another group", "upsert", "warning: a GET with another name makes another group"],
  ["another group", "replace", "ok: service.update: replace is right"],
  ["another group", "never", null],
])("a GET that %s, with service.update: %s", (update, configured, expected) => {
  const lines = advised({ update }, { update: configured });
  expect(lines).toHaveLength(expected === null ? 0 : 1);
  if (expected !== null) expect(lines[0]).toContain(expected);
});

test.each<[string, readonly DeleteTry[], Configured, string | null]>([
  ["it works", [tried("deleted")], {}, "ok: a sync can delete groups"],
  [
    "it wants a data source that the config doesn't name",
    [tried("refused"), tried("deleted", [...BY_ID, "data_source_provided_id"])],
    {},
    "set group.data_source_provided_id",
  ],
  [
    "it wants a data source, which the config names",
    [tried("deleted", [...BY_ID, "data_source_provided_id"])],
    { namesDataSource: true },
    "ok: a sync can delete groups: it sends current_token and user_group_id, and the group's data source",
  ],
  ["none gets through", [tried("refused")], {}, "warning: no DELETE got through"],
  ["nobody can tell, because the service failed", [tried("refused"), tried("failed")], {}, null],
  ["none gets through, and none is needed", [tried("refused")], { when: "never" }, null],
  [
    "none gets through, and only replacements need one",
    [tried("refused")],
    { when: "never", update: "replace" },
    "and service.update: never",
  ],
])("a DELETE: %s", (_, deletes, config, expected) => {
  const lines = advised({ deletes }, config);
  expect(lines).toHaveLength(expected === null ? 0 : 1);
  if (expected !== null) expect(lines[0]).toContain(expected);
});

test.each<[Partial<ProbeFindings>, Configured, string]>([
  [{ rotation: "refused" }, { maxAgeMs: 1 }, "leave rotation.max_age out"],
  [{ rotation: "the same token" }, {}, "groupsync rotate would fail"],
  [{ rotation: "a new token", old_token: "accepted" }, {}, "a rotation doesn't end the old token"],
  [{ repeated_get: "another token" }, {}, "every GET returns another token"],
  [{ get_after_rotation: "another token" }, {}, "a GET after a rotation doesn't return the new token"],
])("%o with %o", (findings, config, expected) => {
  const lines = advised(findings, config);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(expected);
});
