import { isDue } from "../core/failure/backoff.ts";
import { asSyncError, type Failure, interrupted, SyncError, withHint } from "../core/failure/sync-error.ts";
import type { Rotate } from "../core/plan/change.ts";
import { type DueTokens, type GroupSelection, rotationCandidate } from "../core/record/candidates.ts";
import type { EventOf, GroupEvent } from "../core/record/next.ts";
import type { GroupRecord } from "../core/record/record.ts";
import { dueBefore, mayStart, type RotationPolicy } from "../core/rotation/rotation-policy.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupReads } from "../ports/ledger/groups.ts";
import { leasedRun, NO_TOKENS, type Run, type RunPorts, type RunSettings } from "./leased-run.ts";
import { isOutage, NOT_BEGUN, TokenRotation } from "./loop/rotate-token.ts";
import { type Work, workThrough } from "./loop/work-through.ts";
import { candidatePages, rotationCandidates } from "./plan/candidate-pages.ts";
import type { RunReport } from "./report/run-report.ts";
import { reportFailure } from "./report/tally.ts";
import { insistOnLedger } from "./tokens/lost-ledger.ts";
import { UNTRACKED, untrackedGroups } from "./verify/untracked-tokens.ts";

export interface RotateSettings extends RunSettings {
  readonly rotation: RotationPolicy;
}

/**
 * Gives the selected groups new tokens, whatever `rotation` in the config allows; see `leasedRun`. What is wanted is in the ledger
 * before the first call, so every later sync goes on with what this run doesn't reach; and unless ids are given, this run goes on
 * with what was wanted before. The outcome is "ok" only if no token is wanted any more. The report names every group without one.
 */
export const rotate = (
  ports: RunPorts,
  settings: RotateSettings,
  selection: RotationSelection,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun("rotate", ports, settings, signal, async (run, service) => {
    await insistOnLedger(run, service);
    const which = await groupsOf(selection, run);
    const by = selection.kind === "only" ? "name" : "choice";
    await changeAll({ kind: "wanted", by }, which, run).catch((error: unknown) => {
      throw withHint(PERHAPS_WANTED, error);
    });
    const rotations = new Rotations({ of: which.of, isEager: true }, settings.rotation, run);
    await rotations.count();
    run.observe({ kind: "phase", phase: "applying" });
    try {
      await rotations.rotateWanted();
      if (run.signal.aborted) throw interrupted();
    } catch (error) {
      throw withHint(STAYS_WANTED, error);
    } finally {
      await rotations.count().catch(() => {});
    }
    if (selection.kind === "all")
      for await (const id of untrackedGroups(run)) reportFailure(id, UNTRACKED, run);
  });

export type RotationSelection =
  | { readonly kind: "all" }
  | { readonly kind: "older than"; readonly ageMs: number }
  | { readonly kind: "only"; readonly ids: ReadonlySet<string> };

/**
 * The groups of a selection. "All" doesn't look at the age of a token, because a clock may have been wrong.
 * Rejects with UNKNOWN_ID if the ledger has no group with one of the ids, or the group was never made.
 */
export async function groupsOf(
  selection: RotationSelection,
  { ledger, clock }: { readonly ledger: Pick<GroupReads, "candidates">; readonly clock: Clock },
): Promise<GroupSelection> {
  switch (selection.kind) {
    case "all":
      return {};
    case "older than":
      return { liveSince: new Date(clock.now().getTime() - selection.ageMs) };
    case "only": {
      const of = [...selection.ids];
      const known = new Set<string>();
      for await (const page of candidatePages(ledger, { kind: "existing", of }))
        for (const { user_group_id } of page) known.add(user_group_id);
      const unknown = of.filter((id) => !known.has(id));
      if (unknown.length === 0) return { of };
      const ids = unknown.map((id) => JSON.stringify(id)).join(", ");
      throw new SyncError("UNKNOWN_ID", `the ledger has no group of ${ids}`, {
        hint: "ids are compared byte by byte: check case and spaces; a group that is not made yet has no token",
      });
    }
  }
}

const STAYS_WANTED =
  "the tokens that were not reached stay wanted: every sync goes on with them, until groupsync rotate --cancel takes that back";
const PERHAPS_WANTED =
  "nothing was sent, and either all of these new tokens are wanted now or none is, as groupsync status tells; run groupsync rotate again: it does no harm";

/** Takes back that new tokens are wanted, for all groups or those in `ids`. Calls neither the service nor a token store. */
export const cancelRotations = (
  ports: RunPorts,
  settings: RotateSettings,
  ids: ReadonlySet<string> | undefined,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun("rotate --cancel", { ...ports, tokens: NO_TOKENS }, settings, signal, async (run) => {
    const which = ids === undefined ? {} : await groupsOf({ kind: "only", ids }, run);
    await changeAll({ kind: "unwanted" }, { ...which, isWanted: true }, run);
  });

/** Commits the event for all of these groups, or for none. */
export const changeAll = (event: GroupEvent, which: GroupSelection, run: Run): Promise<void> =>
  run.ledger.write(run.lease, (transaction) =>
    transaction.changeAll(event, run.clock.now(), { kind: "existing", ...which }),
  );

/** How long a sync rotates wanted tokens before it makes changes, in milliseconds. */
const TURN_MS = 60_000;

interface RotationOptions {
  /** Undefined: wanted tokens of all groups. */
  readonly of: readonly string[] | undefined;
  /** An operator asks for it now: no group waits for its next try. */
  readonly isEager: boolean;
  /** For how long the rotation of a wanted token may begin, in milliseconds. Left out: at any time. */
  readonly wantedMs?: number | undefined;
}

/** The rotations of one run: of the tokens that are wanted, and of those that are too old. */
export class Rotations {
  readonly #options: RotationOptions;
  readonly #run: Run;
  readonly #policy: RotationPolicy;
  /** When it begins no further rotation of a wanted token, by the monotonic clock. */
  readonly #until: number;
  /** For the whole run: once a new token could not be stored, no further rotation begins. */
  readonly #rotation: TokenRotation;
  /** The groups that it leaves to the next run: their rotation, or a GET, has failed. */
  readonly tried = new Set<string>();
  #begun = 0;

  constructor(options: RotationOptions, policy: RotationPolicy, run: Run) {
    this.#options = options;
    this.#run = run;
    this.#policy = policy;
    this.#until = run.clock.monotonic() + (options.wantedMs ?? Number.POSITIVE_INFINITY);
    this.#rotation = new TokenRotation(run);
  }

  /** Counts what is wanted. */
  async count(): Promise<void> {
    const { ledger, tally } = this.#run;
    tally.counts.wanted = (
      await ledger.sums({
        kind: "existing",
        isWanted: true,
        of: this.#options.of,
      })
    ).counts.total;
  }

  /**
   * Rotates wanted tokens for a minute: first those that were asked for by name. Resolves to how many rotations have begun; 0 if
   * no other can begin now. If the service or a token store stops that, the changes may still be possible, and `rotateWanted`
   * tries again after them.
   */
  async takeTurn(): Promise<number> {
    const { clock } = this.#run;
    const before = this.#begun;
    const until = Math.min(this.#until, clock.monotonic() + TURN_MS);
    try {
      await this.#rotateDue("wanted by name", until);
      await this.#rotateDue("wanted", until);
    } catch (error) {
      if (!isOutage(asSyncError(error))) throw error;
      return 0;
    }
    return until < this.#until && clock.monotonic() >= until ? this.#begun - before : 0;
  }

  /** Rotates the tokens that are still wanted. Reports the groups whose rotation didn't begin, if somebody waits for it. */
  async rotateWanted(): Promise<void> {
    await this.#rotateDue("wanted", this.#until);
    if (this.#options.isEager) await this.#reportLeft();
  }

  /**
   * Rotates the tokens that are due by `rotation` in the config: the oldest first, at most `max_per_run`. Drops the failures of
   * those that are not due any more. `isOwing`: there may be such failures.
   */
  async rotateAged(isOwing: boolean): Promise<void> {
    const { ledger, lease, clock } = this.#run;
    const due = dueBefore(this.#policy, clock.now());
    if (due !== null) await this.#rotateDue(due);
    if (!isOwing) return;
    for await (const page of candidatePages(ledger, { kind: "owing" })) {
      const dropped = page.filter(
        ({ failures, wantedSince, intent, tokenSince: since }) =>
          failures.rotation && !wantedSince && !intent && !(due && since && since <= due),
      );
      const events = dropped.map(({ user_group_id }): EventOf => ({ kind: "unwanted", user_group_id }));
      if (events.length > 0)
        await ledger.write(lease, (transaction) => transaction.change(events, clock.now()));
    }
  }

  async #rotateDue(due: DueTokens["due"], until?: number): Promise<void> {
    const { ledger, clock, tally, observe } = this.#run;
    const isWanted = !(due instanceof Date);
    const isTime = (): boolean =>
      until === undefined ? mayStart(this.#policy, clock.now()) : clock.monotonic() < until;
    if (!isTime() || (isWanted && tally.counts.wanted === 0)) return;
    const which = { due, of: this.#options.of };
    const count = (await ledger.sums({ kind: "rotatable", ...which })).counts.total;
    if (count === 0) return;
    const most = isWanted ? count : Math.min(count, this.#policy.maxPerRun ?? count);
    observe({ kind: "rotating", tokens: most });
    await workThrough(this.#rotations(which, most, isTime), this.#run, {
      mostCalls: this.#policy.concurrency,
    });
  }

  /** Leaves out groups that failed before and whose next attempt is not due. */
  async *#rotations(which: DueTokens, most: number, isTime: () => boolean): AsyncGenerator<Work> {
    const { ledger, clock } = this.#run;
    let left = most;
    for await (const { user_group_id: id, failure } of rotationCandidates(ledger, which)) {
      if (this.tried.has(id) || !(this.#options.isEager || isDue(failure, clock.now()))) continue;
      if (left-- <= 0 || !(await this.#rotation.mayBegin()) || !isTime()) return;
      yield this.#rotationOf(id, which.due);
    }
  }

  #rotationOf(user_group_id: string, due: DueTokens["due"]): Work<Rotate> {
    return {
      user_group_id,
      // No row tells whether a token is to be rotated.
      uponLookup: "goes on",
      // Another change may have begun since the groups were listed, or may have brought another token.
      decide: (record) =>
        record && rotationCandidate(record) && isStillDue(record, due)
          ? { kind: "rotate", user_group_id }
          : undefined,
      call: async (_, before, calls) => {
        this.tried.add(user_group_id);
        this.#begun++;
        const end = before ? await this.#rotation.rotate(before, calls) : "left";
        if (end !== "failed") this.tried.delete(user_group_id);
        return end === "left" ? undefined : RECORDED;
      },
    };
  }

  /** Reports groups whose new token is wanted, and whose rotation this run hasn't begun. */
  async #reportLeft(): Promise<void> {
    const { ledger, tally, signal } = this.#run;
    const { of } = this.#options;
    if (signal.aborted || tally.counts.wanted === 0) return;
    for await (const page of candidatePages(ledger, { kind: "owing" })) {
      for (const { user_group_id: id, wantedSince, intent } of page) {
        if (wantedSince === null || this.tried.has(id) || (of && !of.includes(id))) continue;
        if (intent === null) tally.keptTokens.add(id);
        reportFailure(id, intent === null ? NOT_BEGUN : UNSETTLED, this.#run);
      }
    }
  }
}

/** A rotation records what becomes of it, call by call. */
const RECORDED = async (): Promise<void> => {};

const UNSETTLED: Failure = {
  code: "UNSETTLED",
  message: "an earlier run left another change of this group under way, and a sync has to settle it first",
};

const isStillDue = ({ wantedSince, tokenSince }: GroupRecord, due: DueTokens["due"]): boolean =>
  due instanceof Date
    ? wantedSince === null && tokenSince !== null && tokenSince <= due
    : wantedSince !== null;
