import { doesUpdate, type Shown, type UpdateEvidence, withShown } from "../../core/apply/update-evidence.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import type { BoundService, KnownService } from "../../ports/ledger/scope.ts";

/** The answers of one minute are recorded once, in milliseconds. */
const RECORDED_EVERY = 60_000;

/** Which service holds the ledger's groups, and what this run has learned about that service. */
export class ServiceIdentity {
  readonly baseUrl: string;
  #known: BoundService;
  /** What the ledger has recorded of it. */
  #recorded: BoundService;
  #confirmed = false;
  /** When the service last answered well: in an earlier run, and in this one. */
  readonly #answeredEarlier: Date | null;
  #answered: Date | undefined;
  /** The last answer of this run that the ledger has. */
  #recordedAnswer: Date | undefined;

  /** Throws SERVICE_CHANGED if the ledger's groups live at another address. */
  constructor({ answeredAt, ...known }: KnownService, baseUrl: string) {
    if (known.baseUrl !== null && known.baseUrl !== baseUrl) {
      throw new SyncError(
        "SERVICE_CHANGED",
        `this ledger's groups live at ${known.baseUrl}, but service.base_url is ${baseUrl}`,
        {
          hint: "put the old address back; or, if this is meant, give the config another `name` and `tokens.table`: its ledger starts empty and adopts the groups that it finds there",
        },
      );
    }
    this.baseUrl = baseUrl;
    this.#known = { ...known, baseUrl };
    this.#recorded = this.#known;
    this.#answeredEarlier = answeredAt;
  }

  /** Whether the service has ever answered well, in this run or an earlier one. */
  get isKnown(): boolean {
    return this.#known.teamId !== null;
  }

  /** Whether this run has had an answer from the ledger's team. */
  get confirmed(): boolean {
    return this.#confirmed;
  }

  /** When the service last answered well, in this run or an earlier one; null if it never did. */
  get answeredAt(): Date | null {
    return this.#answered ?? this.#answeredEarlier;
  }

  answered(at: Date): void {
    this.#answered = at;
  }

  /**
   * The last good answer, if the ledger has none of about the same time from this run. An answer to an earlier run doesn't
   * count: a failure may have come between the two.
   */
  get unrecordedAnswer(): Date | undefined {
    const last = this.#answered;
    const recorded = this.#recordedAnswer;
    if (last === undefined || recorded === undefined) return last;
    return Math.abs(last.getTime() - recorded.getTime()) < RECORDED_EVERY ? undefined : last;
  }

  answerRecorded(at: Date): void {
    this.#recordedAnswer = at;
  }

  get evidence(): UpdateEvidence {
    return this.#known.evidence;
  }

  /** Whether a GET changes an existing group; null if nobody knows. */
  get updates(): boolean | null {
    return doesUpdate(this.evidence);
  }

  /** Takes the team of an answer. Throws TEAM_CHANGED if the ledger's groups belong to another team. */
  confirmTeam(teamId: number): void {
    if (this.#known.teamId !== null && this.#known.teamId !== teamId) {
      // An answer to another team's key shows nothing of this ledger's.
      this.#answered = undefined;
      throw new SyncError(
        "TEAM_CHANGED",
        `the service answered for team ${teamId}, but this ledger's groups belong to team ${this.#known.teamId}`,
        {
          hint: "use an API key of the ledger's team; or, if this is meant, give the config another `name` and `tokens.table`: its ledger starts empty and adopts the groups that it finds there",
        },
      );
    }
    if (this.#known.teamId === null) this.#learn({ teamId });
    this.#confirmed = true;
  }

  /** Takes what the answer to a GET shows of one group. */
  learn(id: string, shown: Shown): void {
    this.#learnUpdates(withShown(this.evidence, id, shown));
  }

  learnFromProbe(probe: boolean | undefined): void {
    if (probe !== undefined && probe !== this.evidence.probe) this.#learnUpdates({ ...this.evidence, probe });
  }

  /** What has to be recorded in the ledger; undefined if the ledger has it already. */
  get unrecorded(): BoundService | undefined {
    return this.#known === this.#recorded ? undefined : this.#known;
  }

  recorded(service: BoundService): void {
    this.#recorded = service;
  }

  #learnUpdates(evidence: UpdateEvidence): void {
    if (evidence !== this.evidence) this.#learn({ evidence });
  }

  #learn(news: Partial<BoundService>): void {
    this.#known = { ...this.#known, ...news };
  }
}
