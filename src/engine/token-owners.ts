import { SyncError } from "../core/errors.ts";
import { describeMark, isSameMark, type OwnersMark } from "../core/owners-mark.ts";
import {
  dependsOnTokens,
  type FoundMark,
  type Ownership,
  ownershipOf,
  type Self,
} from "../core/ownership.ts";
import type { KnownService, LedgerView } from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import type { TokenDestination, TokenStore } from "../ports/token-store.ts";
import type { HeldLease } from "./lease.ts";

/** By what an owner's mark tells this config from others. */
export type ScopeIdentity = Pick<Self, "name" | "baseUrl">;

/** A destination that may be written to, and what is known of its mark. */
interface Destination {
  readonly at: TokenDestination;
  readonly ownership: Exclude<Ownership, "refuse">;
  readonly mark: OwnersMark | null;
  /** Why it has to go without a mark. */
  readonly problem?: SyncError | undefined;
}

interface Owned {
  readonly self: Self;
  readonly destinations: readonly Destination[];
}

interface OwnershipPorts {
  readonly ledger: Pick<LedgerView, "id">;
  readonly tokens: Pick<TokenStore, "destinations">;
}

/**
 * Sees whose the destinations of the tokens are, and changes nothing.
 * Rejects with CONFIG_TOKENS_OWNED where one of them isn't this config's to write to.
 */
export async function insistOnOwnership(
  { ledger, tokens }: OwnershipPorts,
  { name, baseUrl }: ScopeIdentity,
  service: KnownService,
): Promise<Owned> {
  const self: Self = { name, baseUrl, ledgerId: await ledger.id(), knowsGroups: service.baseUrl !== null };
  const destinations: Destination[] = [];
  for (const at of tokens.destinations) destinations.push(await look(at, self));
  return { self, destinations };
}

async function look(at: TokenDestination, self: Self): Promise<Destination> {
  const { mark, problem } = await read(at);
  const found: FoundMark = problem ? "unreadable" : mark;
  const holdsTokens = dependsOnTokens(found, self) && (await at.holdsAny());
  const ownership = ownershipOf(found, holdsTokens, self);
  if (ownership !== "refuse") return { at, ownership, mark, problem };
  throw problem ? unknownOwner(at, self, problem) : await anothers(at, mark, self);
}

const read = (at: TokenDestination): Promise<Pick<Destination, "mark" | "problem">> =>
  at.owner().then(
    (mark) => ({ mark }),
    (error: unknown) => ({ mark: null, problem: asUnmarked(error) }),
  );

/** Puts the owner's marks of one run. */
export class TokenOwners {
  readonly #self: Self;
  readonly #knownTeam: number | null;
  readonly #lease: HeldLease;
  readonly #observe: Observe;
  #destinations: readonly Destination[];
  #confirmed: Promise<void> | undefined;

  constructor(
    { self, destinations }: Owned,
    service: KnownService,
    { lease, observe }: { readonly lease: HeldLease; readonly observe: Observe },
  ) {
    this.#self = self;
    this.#knownTeam = service.teamId;
    this.#lease = lease;
    this.#observe = observe;
    this.#destinations = destinations;
    for (const { problem } of destinations) if (problem) this.#warn(problem);
  }

  /** Marks what is free, and brings up to date what is ours. The stores are prepared, and nothing was sent yet. */
  async claim(): Promise<void> {
    await this.#putAll(
      ({ ownership }) => ownership === "keep" || ownership === "claim",
      ({ mark }) => this.#knownTeam ?? mark?.teamId ?? null,
    );
  }

  /**
   * The service has answered for this team: marks what is to be adopted, and adds the team to the other marks. Awaited
   * before the answer is used: after a crash, a token that was stored without a mark would be nobody's.
   */
  confirm(teamId: number): Promise<void> {
    this.#confirmed ??= this.#confirm(teamId);
    return this.#confirmed;
  }

  async #confirm(teamId: number): Promise<void> {
    // The ledger knows better than the marks.
    if (this.#knownTeam !== null) return;
    const other = this.#destinations.find(({ mark }) => (mark?.teamId ?? teamId) !== teamId);
    if (other) throw await anothers(other.at, other.mark, this.#self, teamId);
    await this.#putAll(
      () => true,
      () => teamId,
    );
  }

  async #putAll(
    isDue: (destination: Destination) => boolean,
    teamOf: (destination: Destination) => number | null,
  ): Promise<void> {
    const destinations: Destination[] = [];
    for (const destination of this.#destinations)
      destinations.push(
        isDue(destination) && !destination.problem
          ? await this.#put(destination, teamOf(destination))
          : destination,
      );
    this.#destinations = destinations;
  }

  async #put(destination: Destination, teamId: number | null): Promise<Destination> {
    const { at, mark: former } = destination;
    const { name, baseUrl, ledgerId } = this.#self;
    const mark: OwnersMark = { name, baseUrl, teamId, ledgerId };
    if (isSameMark(former, mark)) return destination;
    try {
      this.#lease.assertHeld();
      if (await at.claim(mark, former)) return { ...destination, mark };
    } catch (error) {
      const problem = asUnmarked(error);
      this.#warn(problem);
      return { ...destination, problem };
    }
    // Somebody else was quicker.
    throw await anothers(at, (await read(at)).mark, this.#self, teamId);
  }

  #warn({ code, message, hint = "" }: SyncError): void {
    this.#observe({ kind: "warning", code, message, hint });
  }
}

/** Returns a TOKENS_UNMARKED error; rethrows any other. */
function asUnmarked(error: unknown): SyncError {
  if (error instanceof SyncError && error.code === "TOKENS_UNMARKED") return error;
  throw error;
}

async function anothers(
  at: TokenDestination,
  mark: OwnersMark | null,
  self: Self,
  teamId: number | null = null,
): Promise<SyncError> {
  const isOfOtherTeam =
    mark?.name === self.name && mark.teamId !== null && teamId !== null && mark.teamId !== teamId;
  const key = `check service.api_key first: it is a key of team ${teamId}, and these tokens are of team ${mark?.teamId}; if that is meant, `;
  const isOfOtherLedger = mark?.name === self.name && mark.ledgerId !== self.ledgerId;
  const theirs = mark === null ? "somebody who claims them just now" : describeMark(mark);
  const remedy = `name another place in \`tokens\`${isOfOtherLedger ? ", or that ledger in `ledger`" : ""}`;
  return new SyncError(
    "CONFIG_TOKENS_OWNED",
    `the tokens in ${at.title} belong to ${theirs}${isOfOtherLedger ? " with another ledger" : ""}, and this config is ${describeMark({ ...self, teamId })}`,
    {
      hint: `${isOfOtherTeam ? key : ""}${remedy}; or, if nobody else writes there any more, give them up for this config: ${await at.release()}`,
    },
  );
}

const unknownOwner = (at: TokenDestination, self: Self, { message, hint = "" }: SyncError): SyncError =>
  new SyncError(
    "CONFIG_TOKENS_OWNED",
    `${at.title} holds tokens that config ${describeMark({ ...self, teamId: null })} did not store, and this user may not read who owns them: ${message}`,
    { hint: `name another place in \`tokens\`; or let this user see whose they are: ${hint}` },
  );
