import type { DeletionPolicy } from "../plan/deletion-policy.ts";
import type { UpdatePolicy } from "../plan/planned-action.ts";
import { type Finding, ok, warning } from "../report/finding.ts";
import { isDeleted, type ProbeFindings } from "./findings.ts";

/** What the advice depends on in the config. */
export interface ProbedConfig {
  readonly update: UpdatePolicy;
  readonly whenDeleted: DeletionPolicy["when"];
  /** `rotation.max_age` is set. */
  readonly rotates: boolean;
  /** `service.rate_limit` is set. */
  readonly limitsRate: boolean;
  /** `group.data_source_provided_id` is set. */
  readonly namesDataSource: boolean;
}

/** What the findings mean for the config. */
export function adviceFor(findings: ProbeFindings, config: ProbedConfig): readonly Finding[] {
  return [
    ...adviceOnTokens(findings),
    ...adviceOnUpdates(findings, config),
    ...adviceOnDeletions(findings, config),
    ...adviceOnRotations(findings, config),
    ...adviceOnLimits(findings, config),
  ];
}

function* adviceOnTokens({ repeatedGet, getAfterRotation }: ProbeFindings): Generator<Finding> {
  if (repeatedGet === "another token") {
    yield warning(
      "every GET returns another token: a GET that is repeated after a lost answer may end the token that is stored",
      "ask the service's operators whether the tokens of earlier GETs stay good",
    );
  }
  if (getAfterRotation === "another token") {
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
function* adviceOnUpdates({ update }: ProbeFindings, config: ProbedConfig): Generator<Finding> {
  if (update === null || config.update === "never") return;
  if (update === "updates") {
    yield config.update === "upsert"
      ? ok("service.update: upsert is right: a GET updates a changed group, which keeps its token")
      : warning(
          "service.update: replace is not needed: a GET updates a changed group",
          "set service.update: upsert; a changed group then keeps its token",
        );
    return;
  }
  const what = "service.update: replace";
  yield config.update === "replace"
    ? ok(`${what} is right: a GET doesn't change an existing group`)
    : warning(
        update === "another group"
          ? "a GET with another name makes another group: with service.update: upsert the group of the former name would stay"
          : "service.update: upsert can't change an existing group: every changed group would fail with NOT_UPDATED",
        `set ${what}, which deletes a changed group and makes it anew, with a new token; or never, to leave it as it is`,
      );
}

function* adviceOnDeletions({ deletes }: ProbeFindings, config: ProbedConfig): Generator<Finding> {
  // After a failure nobody can tell.
  if (deletes.length === 0 || deletes.some(({ result }) => result === "failed")) return;
  const works = deletes.find(isDeleted);
  if (works?.result === "deleted") {
    const usesDataSource = works.fields.includes("data_source_provided_id");
    if (usesDataSource && !config.namesDataSource) {
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
  if (config.whenDeleted === "never" && config.update !== "replace") return;
  const hint = `set deletion.when: never${config.update === "replace" ? ", and service.update: never" : ""} until the service's operators have told how a group is deleted`;
  yield works
    ? warning(
        "a DELETE has its effect, but its answer can't be used: a sync would count every deletion as failed",
        hint,
      )
    : warning("no DELETE got through: a sync could not delete groups", hint);
}

function* adviceOnRotations(
  { rotation, oldToken }: ProbeFindings,
  { rotates }: ProbedConfig,
): Generator<Finding> {
  if (rotation === "refused" || rotation === "the same token") {
    yield rotates
      ? warning(
          "rotation.max_age has no use: a POST gives no new token",
          "leave rotation.max_age out, and ask the service's operators how a token is rotated",
        )
      : warning("groupsync rotate would fail: a POST gives no new token");
  }
  if (oldToken === "accepted") {
    yield warning(
      "a rotation doesn't end the old token: the service still takes it",
      "a token that has leaked stays good after groupsync rotate; ask the service's operators how to end it",
    );
  }
}

function* adviceOnLimits(
  { throttled, limitHeaders }: ProbeFindings,
  { limitsRate }: ProbedConfig,
): Generator<Finding> {
  if (limitsRate || (throttled === 0 && limitHeaders.length === 0)) return;
  yield ok(
    "the service limits calls: a sync learns the limit from its refusals; service.rate_limit below the limit leaves a share to others",
  );
}
