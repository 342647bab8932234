import { SyncError } from "../../core/failure/sync-error.ts";
import {
  type Claimant,
  dependsOnTokens,
  describeMark,
  type FoundMark,
  isSameMark,
  type Ownership,
  type OwnersMark,
  ownershipOf,
} from "../../core/tokens/destination.ts";
import type { KnownService, ScopeReads } from "../../ports/ledger/scope.ts";
import type { Observe } from "../../ports/observer.ts";
import type { TokenDestination, TokenStore } from "../../ports/token-store.ts";
import type { HeldLease } from "../lease/lease.ts";

/** A destination that this config may write to, and its mark. */
interface Destination {
  readonly at: TokenDestination;
  readonly ownership: Exclude<Ownership, "refuse">;
  readonly mark: OwnersMark | null;
  /** Why the mark can't be read or written. */
  readonly problem?: SyncError | undefined;
}

interface Owned {
  readonly self: Claimant;
  readonly destinations: readonly Destination[];
}

interface OwnershipPorts {
  readonly ledger: ScopeReads;
  readonly tokens: Pick<TokenStore, "destinations">;
}

/**
 * Checks who owns the token destinations; changes nothing.
 * Rejects with CONFIG_TOKENS_OWNED if this config may not write to one of them.
 */
export async function insistOnOwnership(
  { ledger, tokens }: OwnershipPorts,
  { name, baseUrl }: Pick<Claimant, "name" | "baseUrl">,
  service: KnownService,
): Promise<Owned> {
  const self: Claimant = {
    name,
    baseUrl,
    ledgerId: (await ledger.scope()).ledgerId,
    knowsGroups: service.baseUrl !== null,
  };
  const destinations: Destination[] = [];
  for (const at of tokens.destinations) destinations.push(await inspect(at, self));
  return { self, destinations };
}

async function inspect(at: TokenDestination, self: Claimant): Promise<Destination> {
  const { mark, problem } = await read(at);
  const found: FoundMark = problem ? "unreadable" : mark;
  const holdsTokens = dependsOnTokens(found, self) && (await at.holdsAny());
  const ownership = ownershipOf(found, holdsTokens, self);
  if (ownership !== "refuse") return { at, ownership, mark, problem };
  throw problem ? unknownOwner(at, self, problem) : await ownedByOther(at, mark, self);
}

const read = (at: TokenDestination): Promise<Pick<Destination, "mark" | "problem">> =>
  at.owner().then(
    (mark) => ({ mark }),
    (error: unknown) => ({ mark: null, problem: asUnmarked(error) }),
  );

/** Writes the owner's marks during one run. */
export class DestinationOwners {
  readonly #self: Claimant;
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

  /** Marks free destinations, and updates this config's own marks. Runs after the stores are prepared and before the first call. */
  async claim(): Promise<void> {
    const due = this.#destinations.filter(({ ownership }) => ownership === "keep" || ownership === "claim");
    await this.#putMarks(due, ({ mark }) => this.#knownTeam ?? mark?.teamId ?? null);
  }

  /**
   * Marks destinations that are to be adopted, and adds the team to the other marks, once the service has answered for
   * this team. Await this before using the answer: after a crash, a token stored without a mark would have no owner.
   */
  confirm(teamId: number): Promise<void> {
    this.#confirmed ??= this.#confirm(teamId);
    return this.#confirmed;
  }

  async #confirm(teamId: number): Promise<void> {
    // If the ledger knows the team, the marks have it already.
    if (this.#knownTeam !== null) return;
    const other = this.#destinations.find(({ mark }) => (mark?.teamId ?? teamId) !== teamId);
    if (other) throw await ownedByOther(other.at, other.mark, this.#self, teamId);
    await this.#putMarks(this.#destinations, () => teamId);
  }

  /** Leaves out the destinations where no mark can be put. */
  async #putMarks(
    destinations: readonly Destination[],
    teamOf: (destination: Destination) => number | null,
  ): Promise<void> {
    for (const former of destinations) {
      if (former.problem) continue;
      const marked = await this.#put(former, teamOf(former));
      this.#destinations = this.#destinations.map((one) => (one === former ? marked : one));
    }
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
    // Another config has put its mark there meanwhile.
    throw await ownedByOther(at, (await read(at)).mark, this.#self, teamId);
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

async function ownedByOther(
  at: TokenDestination,
  mark: OwnersMark | null,
  self: Claimant,
  teamId: number | null = null,
): Promise<SyncError> {
  const isOfOtherTeam =
    mark?.name === self.name && mark.teamId !== null && teamId !== null && mark.teamId !== teamId;
  const key = `check service.api_key first: it is a key of team ${teamId}, and these tokens are of team ${mark?.teamId}; if that is meant, `;
  const isOfOtherLedger = mark?.name === self.name && mark.ledgerId !== self.ledgerId;
  const theirs = mark === null ? "another config that is just claiming them" : describeMark(mark);
  const mayBeCopy = mark?.name !== self.name && mark?.baseUrl === self.baseUrl;
  const remedy = `name another place in \`tokens\`${isOfOtherLedger ? ", or that ledger in `ledger`" : ""}${mayBeCopy ? ", and check service.api_key: with the key of that config, both would change the same groups" : ""}`;
  return new SyncError(
    "CONFIG_TOKENS_OWNED",
    `the tokens in ${at.title} belong to ${theirs}${isOfOtherLedger ? " with another ledger" : ""}, and this config is ${describeMark({ ...self, teamId })}`,
    {
      hint: `${isOfOtherTeam ? key : ""}${remedy}; or, if nobody else writes there any more, give them up for this config: ${await at.release()}`,
    },
  );
}

const unknownOwner = (at: TokenDestination, self: Claimant, { message, hint = "" }: SyncError): SyncError =>
  new SyncError(
    "CONFIG_TOKENS_OWNED",
    `${at.title} holds tokens that config ${describeMark({ ...self, teamId: null })} did not store, and this user is not allowed to read who owns them: ${message}`,
    { hint: `name another place in \`tokens\`; or allow this user to see who owns them: ${hint}` },
  );

/**
 * Takes the owner's marks of this scope and this ledger away, so that another config can have the places of its tokens. Leaves
 * the marks of others, and the tokens. Resolves to the titles of the destinations that nobody owns any more. Rejects as the
 * token stores do.
 */
export async function giveUpDestinations(
  name: string,
  { ledger, tokens }: OwnershipPorts,
): Promise<readonly string[]> {
  const { ledgerId } = await ledger.scope();
  const free: string[] = [];
  for (const destination of tokens.destinations) {
    const { mark, problem } = await read(destination);
    // If this user may not read marks, there is none of this user, and nobody knows whether there is another's.
    if (problem || (mark !== null && (mark.name !== name || mark.ledgerId !== ledgerId))) continue;
    if (mark !== null) await destination.giveUp(mark);
    free.push(destination.title);
  }
  return free;
}
