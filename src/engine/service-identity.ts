import { SyncError } from "../core/errors.ts";
import type { KnownService } from "../ports/ledger.ts";

/** Which service the ledger's groups live in, and what this run learns of it. */
export class ServiceIdentity {
  #known: KnownService;
  /** As the ledger has it, or had it at first. */
  #recorded: KnownService;
  #confirmed = false;

  /** Throws SERVICE_CHANGED where the ledger was made with another address. */
  constructor(known: KnownService, baseUrl: string) {
    if (known.baseUrl !== null && known.baseUrl !== baseUrl) {
      throw new SyncError(
        "SERVICE_CHANGED",
        `this ledger's groups live at ${known.baseUrl}, but service.base_url is ${baseUrl}`,
        {
          hint: "put the old address back; or, if this is meant, give the config another `name` and `tokens.table`: its ledger starts empty and adopts the groups that it finds there",
        },
      );
    }
    this.#known = { ...known, baseUrl };
    this.#recorded = this.#known;
  }

  /** Whether it has ever given a good answer, to this run or to an earlier one. */
  get isKnown(): boolean {
    return this.#known.teamId !== null;
  }

  /** Whether an answer in this run has come from the right team. */
  get confirmed(): boolean {
    return this.#confirmed;
  }

  get updates(): boolean | null {
    return this.#known.updates;
  }

  /** Throws TEAM_CHANGED where the answer comes from another team than the ledger's. */
  confirmTeam(teamId: number): void {
    if (this.#known.teamId !== null && this.#known.teamId !== teamId) {
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

  learnUpdates(updates: boolean | undefined): void {
    if (updates !== undefined && updates !== this.#known.updates) this.#learn({ updates });
  }

  /** What has to be written to the ledger, until it is. */
  get unrecorded(): KnownService | undefined {
    return this.#known === this.#recorded ? undefined : this.#known;
  }

  recorded(service: KnownService): void {
    this.#recorded = service;
  }

  #learn(news: Partial<KnownService>): void {
    this.#known = { ...this.#known, ...news };
  }
}
