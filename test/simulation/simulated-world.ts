import { refreshHold } from "../../src/core/drift/refresh.ts";
import type { Group } from "../../src/core/group/group.ts";
import { isSameMark, type OwnersMark } from "../../src/core/tokens/destination.ts";
import { heldGroups } from "../../src/engine/plan/held-groups.ts";
import { foundLately } from "../../src/engine/refresh/held-refresh.ts";
import { fingerprintOfGroup } from "../builders/groups.ts";
import { inMemoryLedger } from "../fakes/ledger/ledger.ts";
import { LedgerState } from "../fakes/ledger/ledger-state.ts";
import { ServiceState } from "../fakes/service.ts";
import type { TenantRecord } from "../fakes/tenant-source.ts";
import { TokenState } from "../fakes/token-store.ts";
import { VirtualTime } from "../fakes/virtual-time.ts";
import { MAPPED, TIER } from "./config.ts";
import { poisoning } from "./faults.ts";
import type {
  Active,
  History,
  Meddling,
  Place,
  Poison,
  Row,
  SimulatedConfig,
  Tampering,
  WhichStore,
} from "./history.ts";
import { Program, type ProgramOptions } from "./program.ts";
import { Watch } from "./watch.ts";

/** The owner's mark in the store of another scope, which has its own ledger and service. */
const ANOTHERS: OwnersMark = {
  name: "production",
  baseUrl: "https://production.example.com",
  teamId: 4_711,
  ledgerId: "production's",
};
const ANOTHERS_TOKENS: ReadonlyMap<string, string> = new Map([
  ["a", "ugt_a_of_production"],
  ["z", "ugt_z_of_production"],
]);

const REWRITINGS: Record<Place["names"], (name: string) => string> = {
  "as sent": (name) => name,
  small: (name) => name.toLowerCase(),
  cut: (name) => name.slice(0, "Name 1".length),
};

/** Everything that outlives the programs: databases, the service, time, and what other programs do there. */
export class SimulatedWorld {
  readonly time = new VirtualTime();
  readonly service = new ServiceState();
  readonly ledger = new LedgerState();
  readonly stores: readonly TokenState[];
  readonly anothersStore = new TokenState();
  readonly watch = new Watch(this);
  /** The rows that the source has now. */
  readonly records: TenantRecord[] = [];
  readonly programs: Program[] = [];
  /** Who made a group, by its id. */
  readonly makers = new Map<string, "groupsync" | "somebody else">();
  /** Groups whose token or existence another program changed at the service: a sync doesn't notice that. */
  readonly meddledWith = new Set<string>();
  /** The groups that another program has renamed. */
  readonly renamed = new Set<string>();
  /** Groups whose token another program changed in a store, each with the number of its last change, counted from 1. */
  readonly tamperedWith = new Map<string, number>();
  tamperings = 0;
  /** The group that fails while all others succeed. */
  poison: Poison | null = null;
  config: SimulatedConfig;
  /** Stores that the config did not name for a while: tokens in them may be old. */
  readonly abandoned = new Set<TokenState>();
  /** The difference of all wall clocks from the true time, in milliseconds. */
  clockOffset = 0;
  readonly #place: Place;
  readonly #rows = new Map<string, Row>();
  /** All rows that an id has had, the present one last. Undefined stands for none. */
  readonly #versions = new Map<string, (Row | undefined)[]>();
  readonly #seed: number;
  #isEmpty = false;

  constructor({ place, config, tenants, seed }: Pick<History, "place" | "config" | "tenants" | "seed">) {
    this.#place = place;
    this.#seed = seed;
    this.config = config;
    this.service.existing = place.existing;
    this.service.rewrites = REWRITINGS[place.names];
    this.service.deleteBy = place.deleteBy;
    this.stores = place.stores.map((where) => {
      const store = new TokenState();
      store.sharesLedger = where === "with the ledger";
      return store;
    });
    this.anothersStore.owner = ANOTHERS;
    for (const [id, token] of ANOTHERS_TOKENS) this.anothersStore.tokens.set(id, token);
    this.configure({});
    for (const [id, row] of Object.entries(tenants)) this.setRow(id, row);
  }

  setRow(id: string, row: Row): void {
    if (row.kind === "gone") this.#rows.delete(id);
    else this.#rows.set(id, row);
    this.#show();
  }

  setEmpty(isEmpty: boolean): void {
    this.#isEmpty = isEmpty;
    this.#show();
  }

  /** The rows that a read would find now. */
  visibleRows(): ReadonlyMap<string, Row> {
    return this.#isEmpty ? new Map() : new Map(this.#rows);
  }

  /** Counts the rows that the id has had: a higher number is a newer row. */
  versionOf(id: string): number {
    return this.#rowsOf(id).length - 1;
  }

  /** The rows that the id has had since this version. Undefined stands for none. */
  rowsSince(id: string, version: number): readonly (Row | undefined)[] {
    return this.#rowsOf(id).slice(version);
  }

  /** The newest version of its tenant that asks for this group; undefined if none has. */
  newestVersionFor(group: Group, config: Pick<SimulatedConfig, "hasTier">): number | undefined {
    const id = group.user_group_id;
    const fingerprint = fingerprintOfGroup(group);
    const isFor = (row: Row | undefined): boolean =>
      row?.kind === "active" && fingerprintOfGroup(desiredGroup(id, row, config)) === fingerprint;
    const rows = this.#rowsOf(id);
    for (let version = rows.length - 1; version >= 0; version--) if (isFor(rows[version])) return version;
    return undefined;
  }

  /** Whether the group in the service is what its tenant's row asks for. */
  isAsDesired(id: string, row: Active, config: Pick<SimulatedConfig, "hasTier">): boolean {
    return this.#hasGroup(desiredGroup(id, row, config));
  }

  /** Whether this is the state in which the service confirmed the group last. */
  isConfirmed(group: Group): boolean {
    const known = this.ledger.rows.get(group.user_group_id)?.confirmed;
    return !!known && fingerprintOfGroup(known) === fingerprintOfGroup(group);
  }

  meddle(what: Meddling, id: string): void {
    const { service, makers, meddledWith } = this;
    const held = service.groups.get(id);
    meddledWith.add(id);
    switch (what) {
      case "makes the group":
        if (held) return;
        makers.set(id, "somebody else");
        service.put({ user_group_id: id, name: "Somebody else's", mapping: {}, properties: {} });
        return;
      case "rotates the token":
        if (held) held.token = service.newToken(id);
        return;
      case "deletes the group":
        service.groups.delete(id);
        return;
      case "renames the group":
        this.renamed.add(id);
        if (held) held.group = { ...held.group, name: "Somebody else's name" };
    }
  }

  tamper(what: Tampering, id: string, which: WhichStore): void {
    const { tokens } = this.#store(which);
    this.#tampersWith(id);
    switch (what) {
      case "stores another token":
        tokens.set(id, `ugt_${id}_made_up`);
        return;
      case "stores a copy of another group's token": {
        const other = [...tokens].find(([another]) => another !== id);
        if (other) tokens.set(id, other[1]);
        return;
      }
      case "takes the token out of the store":
        tokens.delete(id);
    }
  }

  loseTokens(which: WhichStore): void {
    const { tokens } = this.#store(which);
    for (const id of tokens.keys()) this.#tampersWith(id);
    tokens.clear();
  }

  /** Returns what restores the ledger as it is now, on another server; `withTokens`: the tokens in its database, too. */
  backup(withTokens: boolean): () => void {
    const putBack = this.ledger.copy();
    const stores = this.stores.filter(({ sharesLedger }) => withTokens && sharesLedger);
    const kept = stores.map(({ tokens }) => [...tokens]);
    return () => {
      putBack();
      this.ledger.server = "another server";
      for (const [n, { tokens }] of stores.entries()) {
        tokens.clear();
        for (const [id, token] of kept[n] ?? []) tokens.set(id, token);
      }
    };
  }

  /** Makes a store refuse to write or to remove this group's token, until `end` is called. */
  obstruct(kind: "refuses" | "keeps", which: WhichStore, id: string): { end: () => void } {
    const { refused, notRemovable } = this.#store(which);
    const ids = kind === "refuses" ? refused : notRemovable;
    ids.add(id);
    return { end: () => ids.delete(id) };
  }

  /** Makes this group fail, and no other any more. */
  setPoison(poison: Poison | null): void {
    for (const { refused } of this.stores) if (this.poison) refused.delete(this.poison.id);
    this.poison = poison;
    if (poison === null) return;
    for (const store of poisoning(poison.kind).refusing ?? []) this.obstruct("refuses", store, poison.id);
  }

  /** Ends all that makes stores refuse or keep tokens, apart from the poison. */
  endObstacles(): void {
    for (const { refused, notRemovable } of this.stores) {
      refused.clear();
      notRemovable.clear();
    }
    this.setPoison(this.poison);
  }

  isStore(nth: number | undefined, which: WhichStore): boolean {
    return nth === (which === "first" ? 0 : this.stores.length - 1);
  }

  configure(change: Partial<SimulatedConfig>): void {
    this.config = { ...this.config, ...change };
    // A config that names another scope's store changes nothing.
    if (this.config.tokens === "another scope's") return;
    const used = this.storesOf(this.config);
    for (const store of this.stores) if (!used.includes(store)) this.abandoned.add(store);
  }

  /** The stores that this config names. */
  storesOf({ tokens }: Pick<SimulatedConfig, "tokens">): readonly TokenState[] {
    switch (tokens) {
      case "everywhere":
        return this.stores;
      case "another scope's":
        return [this.anothersStore];
      case "first":
      case "last":
        return [this.#store(tokens)];
    }
  }

  /** Whether the store of the other scope is unchanged. */
  leftAnothersAlone(): boolean {
    const { owner, tokens } = this.anothersStore;
    const isAsItWas = [...ANOTHERS_TOKENS].every(([id, token]) => tokens.get(id) === token);
    return isSameMark(owner, ANOTHERS) && tokens.size === ANOTHERS_TOKENS.size && isAsItWas;
  }

  destinationsOf(config: Pick<SimulatedConfig, "tokens">): readonly string[] {
    return this.storesOf(config).map((store) => this.#placeOf(store));
  }

  /** Whether all stores of these destinations have the live token; with null, whether any store has it. */
  holdsLive(id: string, places: readonly string[] | null): boolean {
    const live = this.service.groups.get(id)?.token;
    const holdsIt = ({ tokens }: TokenState): boolean => live !== undefined && tokens.get(id) === live;
    if (places === null) return this.stores.some(holdsIt);
    return this.stores.filter((store) => places.includes(this.#placeOf(store))).every(holdsIt);
  }

  #placeOf(store: TokenState): string {
    return store === this.anothersStore ? "another scope's store" : `store ${this.stores.indexOf(store)}`;
  }

  /** Whether another program's changes excuse that the stored token is not the live one; `run`: even after this run. */
  isExcused(id: string, run?: { readonly verifies: boolean; readonly tamperingsBefore: number }): boolean {
    if (this.meddledWith.has(id)) return true;
    const nth = this.tamperedWith.get(id);
    return nth !== undefined && !(run?.verifies && nth <= run.tamperingsBefore);
  }

  start(options: Omit<ProgramOptions, "config"> & { readonly config?: SimulatedConfig }): Program {
    const nth = this.programs.length + 1;
    const program = new Program(this, { config: this.config, ...options }, `run ${nth}`, this.#seed + nth);
    this.programs.push(program);
    return program;
  }

  /** The code of the held removals, as an operator would approve them; undefined if nothing is held. */
  async approval(): Promise<string | undefined> {
    const noStep = async (): Promise<void> => {};
    const held = await heldGroups(inMemoryLedger(this.ledger, noStep, () => this.time.now()));
    if (!held?.code) return undefined;
    this.watch.approve(held.code);
    return held.code;
  }

  /** The code of the held refresh, as an operator would approve it; undefined if none is held. */
  async refreshApproval(): Promise<string | undefined> {
    const noStep = async (): Promise<void> => {};
    const now = new Date(this.time.now().getTime() + this.clockOffset);
    const ledger = inMemoryLedger(this.ledger, noStep, () => this.time.now());
    const found = await foundLately(ledger, now);
    const owned = (await ledger.sums({ kind: "existing" })).counts.total;
    return refreshHold("default", found, { limit: this.config.deletion.limit, owned })?.approval;
  }

  isKnownToBeDead(holder: string): boolean {
    return (
      this.#place.isOneMachine &&
      this.programs.some((program) => program.record.holder === holder && program.end === "died")
    );
  }

  #store(which: WhichStore): TokenState {
    const store = which === "first" ? this.stores[0] : this.stores.at(-1);
    if (store === undefined) throw new Error("there is no token store");
    return store;
  }

  #tampersWith(id: string): void {
    this.tamperedWith.set(id, ++this.tamperings);
  }

  #hasGroup(group: Group): boolean {
    const held = this.service.groups.get(group.user_group_id)?.group;
    const taken = { ...group, name: this.service.rewrites(group.name) };
    return held !== undefined && fingerprintOfGroup(held) === fingerprintOfGroup(taken);
  }

  #show(): void {
    const visible = this.visibleRows();
    const rows = [...visible].flatMap(([id, row]) => recordsOf(id, row));
    this.records.splice(0, this.records.length, ...rows);
    for (const id of new Set([...this.#versions.keys(), ...visible.keys()])) {
      const versions = this.#rowsOf(id);
      if (versions.at(-1) !== visible.get(id)) this.#versions.set(id, [...versions, visible.get(id)]);
    }
  }

  #rowsOf(id: string): (Row | undefined)[] {
    return this.#versions.get(id) ?? [undefined];
  }
}

/** The group that a row asks for. */
function desiredGroup(id: string, row: Active, { hasTier }: Pick<SimulatedConfig, "hasTier">): Group {
  const { name, source, plan } = columnsOf(id, row);
  const tier = hasTier ? { tier: TIER } : {};
  return { user_group_id: id, name, mapping: { [MAPPED]: source }, properties: { plan, ...tier } };
}

const columnsOf = (id: string, { name, mapping, plan }: Omit<Active, "kind">) => ({
  name: `Name ${name} of ${id}`,
  source: `warehouse-${mapping}`,
  plan: plan === 0 ? null : `plan-${plan}`,
});

function recordsOf(id: string, row: Row): TenantRecord[] {
  const record = { id, ...columnsOf(id, row.kind === "active" ? row : { name: 0, mapping: 0, plan: 0 }) };
  switch (row.kind) {
    case "active":
      return [record];
    case "gone":
      return [];
    case "flagged":
      return [{ ...record, removed: true }];
    case "not ready":
      return [{ ...record, source: null, ready: false }];
    case "rejected":
      return [{ ...record, source: null }];
    case "twice":
      return [record, record];
  }
}
