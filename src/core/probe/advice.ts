import type { GroupRules } from "../group/group-rules.ts";
import type { DeletionPolicy } from "../plan/deletion-policy.ts";
import type { UpdatePolicy } from "../record/decide.ts";
import { type Finding, ok, warning } from "../report/finding.ts";
import type { ProbeFindings } from "./findings.ts";

export interface ProbedConfig {
  readonly service: { readonly update: UpdatePolicy };
  readonly deletion: Pick<DeletionPolicy, "when">;
  readonly rotation: { readonly maxAgeMs: number | null };
  readonly group: Pick<GroupRules, "dataSourceId">;
}

export function adviceFor(findings: ProbeFindings, config: ProbedConfig): readonly Finding[] {
  return [
    ...adviceOnTokens(findings),
    ...adviceOnUpdates(findings, config),
    ...adviceOnDeletions(findings, config),
    ...adviceOnRotations(findings, config),
  ];
}

function* adviceOnTokens({ repeated_get, get_after_rotation }: ProbeFindings): Generator<Finding> {
  if (repeated_get === "another token") {
    yield warning(
      "every GET returns another token: a GET that is repeated after a lost answer may end the token that is stored",
      "ask the service's operators whether the tokens of earlier GETs stay good",
    );
  }
  if (get_after_rotation === "another token") {
    yield warning(
      "a GET after a rotation doesn't return the new token: after a lost answer nobody can tell which token is good",
      "rotate only while somebody watches, and ask the service's operators",
    );
  }
}

/**
 * | a GET                   | `service.update` | advice                                       |
 * |-------------------------|------------------|----------------------------------------------|
 * | updates                 | upsert           | right                                        |
 * | updates                 | replace          | upsert is enough, and keeps the tokens       |
 * | keeps, or only answers  | upsert           | replace, or never                            |
 * | keeps, or only answers  | replace          | right                                        |
 * | makes another group     | upsert           | replace, or never                            |
 * | makes another group     | replace          | right                                        |
 * | any                     | never            | none: changed groups are to be left alone    |
 */
function* adviceOnUpdates({ update }: ProbeFindings, { service }: ProbedConfig): Generator<Finding> {
  if (update === null || service.update === "never") return;
  if (update === "updates") {
    yield service.update === "upsert"
      ? ok("service.update: upsert is right: a GET updates a changed group, which keeps its token")
      : warning(
          "service.update: replace is not needed: a GET updates a changed group",
          "set service.update: upsert; a changed group then keeps its token",
        );
    return;
  }
  const what = "service.update: replace";
  yield service.update === "replace"
    ? ok(`${what} is right: a GET doesn't change an existing group`)
    : warning(
        update === "another group"
          ? "a GET with another name makes another group: with service.update: upsert the group of the former name would stay"
          : "service.update: upsert can't change an existing group: every changed group would fail with NOT_UPDATED",
        `set ${what}, which deletes a changed group and makes it anew, with a new token; or never, to leave it as it is`,
      );
}

function* adviceOnDeletions(
  { deletes }: ProbeFindings,
  { service, deletion, group }: ProbedConfig,
): Generator<Finding> {
  // After a failure nobody can tell.
  if (deletes.length === 0 || deletes.some(({ result }) => result === "failed")) return;
  const works = deletes.find(({ result }) => result === "deleted");
  if (works !== undefined) {
    const usesDataSource = works.fields.includes("data_source_provided_id");
    if (usesDataSource && group.dataSourceId === undefined) {
      yield warning(
        "a DELETE has to name a data source, and took one that doesn't exist",
        "set group.data_source_provided_id, so that a sync's DELETE names one, too",
      );
      return;
    }
    const more = usesDataSource ? ", and the group's data source" : "";
    yield ok(`a sync can delete groups: it sends current_token and user_group_id${more}`);
    return;
  }
  const replaces = service.update === "replace";
  if (deletion.when === "never" && !replaces) return;
  yield warning(
    "no DELETE got through: a sync could not delete groups",
    `set deletion.when: never${replaces ? ", and service.update: never" : ""} until the service's operators have told how a group is deleted`,
  );
}

function* adviceOnRotations(
  { rotation, old_token }: ProbeFindings,
  config: ProbedConfig,
): Generator<Finding> {
  if (rotation === "refused" || rotation === "the same token") {
    yield config.rotation.maxAgeMs === null
      ? warning("groupsync rotate would fail: a POST gives no new token")
      : warning(
          "rotation.max_age has no use: a POST gives no new token",
          "leave rotation.max_age out, and ask the service's operators how a token is rotated",
        );
  }
  if (old_token === "accepted") {
    yield warning(
      "a rotation doesn't end the old token: the service still takes it",
      "a token that has leaked stays good after groupsync rotate; ask the service's operators how to end it",
    );
  }
}
