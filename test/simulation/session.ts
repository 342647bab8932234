import type { PlanPorts } from "../../src/engine/plan/make-plan.ts";
import type { AskingSettings } from "../../src/engine/refresh/ask-if-silent.ts";
import type { WorkBeside } from "../../src/engine/serving/serve-tenants.ts";
import { serveBeside } from "../../src/engine/serving/serve-tenants.ts";
import {
  type OpenService,
  type ServingEvents,
  TenantServer,
} from "../../src/engine/serving/tenant-server.ts";
import { inMemoryLedger } from "../fakes/ledger/ledger.ts";
import type { Happening, Notice, Session } from "./history.ts";
import type { ProcessClock } from "./process-clock.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import type { RunRecord, Watch } from "./watch.ts";

/** In milliseconds. Longer than any session lasts. */
const LONGEST_WAIT = 3_600_000;

interface SessionParts {
  readonly world: SimulatedWorld;
  readonly run: RunRecord;
  readonly clock: ProcessClock;
  readonly isAlive: () => boolean;
}

/** What makes a full sync a daemon's session, and what happens to tenants meanwhile. */
export class SimulatedSession {
  readonly #session: Session;
  readonly #parts: SessionParts;
  readonly #server: TenantServer;
  readonly #nextSync = new AbortController();

  constructor(session: Session, parts: SessionParts) {
    this.#session = session;
    this.#parts = parts;
    this.#server = new WatchedTenantServer(parts);
  }

  beside(ports: PlanPorts, settings: AskingSettings): WorkBeside {
    const end = this.#nextSync.signal;
    return serveBeside({ server: this.#server, startNoticing: async () => {}, end }, ports, settings);
  }

  /** The process passes its `nth` point. */
  pass(nth: number): void {
    for (const happening of this.#session.happenings) if (happening.at === nth) this.#happens(happening);
  }

  /** The full sync is over. */
  syncEnds(): void {
    void this.#parts.world.time.sleep(this.#session.lastsMs).then(() => this.end());
  }

  /** Idempotent. */
  end(): void {
    this.#nextSync.abort();
  }

  #happens({ id, row, notices }: Happening): void {
    const { world } = this.#parts;
    if (row) world.setRow(id, row);
    for (const notice of notices) void world.time.sleep(notice.afterMs).then(() => this.#hears(id, notice));
  }

  async #hears(id: string, { feed }: Notice): Promise<void> {
    const { world, run, isAlive } = this.#parts;
    if (!isAlive()) return;
    switch (feed) {
      case "change feed":
        return this.#server.notice(id);
      case "request to a standby": {
        const ledger = inMemoryLedger(
          world.ledger,
          async () => {},
          () => world.time.now(),
        );
        await ledger.putRequest(id, "a standby", LONGEST_WAIT);
        return;
      }
      case "request": {
        const version = world.versionOf(id);
        const served = await this.#server.serve(id, LONGEST_WAIT, this.#nextSync.signal);
        if (isAlive()) world.watch.answers(id, served, version, run);
      }
    }
  }
}

/** Tells the watch which tenants wait to be looked at, and which are being served. */
class WatchedTenantServer extends TenantServer {
  readonly #watch: Watch;
  readonly #run: RunRecord;

  constructor({ world, run, clock }: SessionParts) {
    super({ clock, onServed: () => {}, onOverflow: () => {} });
    this.#watch = world.watch;
    this.#run = run;
  }

  override notice(id: string): void {
    this.#run.waiting.add(id);
    super.notice(id);
  }

  override lookUpAgain(id: string): void {
    this.#run.waiting.add(id);
    super.lookUpAgain(id);
  }

  override request(id: string): boolean {
    this.#run.waiting.add(id);
    return super.request(id);
  }

  override serveIn(run: OpenService, until: AbortSignal): Promise<void> {
    const serve: OpenService["serve"] = async (ids, { served, lookedUp }) => {
      // A tenant that is told of may be served anew while the others still wait.
      const untold = new Set(ids);
      const end: ServingEvents["served"] = (id, what) => {
        const isUnserved = what.served.kind === "failed" || what.served.kind === "conflict";
        if (untold.delete(id)) this.#watch.hasServed(id, isUnserved, this.#run);
        served(id, what);
      };
      try {
        await run.serve(ids, { served: end, lookedUp });
      } finally {
        // Who isn't told of has not been served: a call has failed, or the session was ended, perhaps by a hand-over.
        for (const id of untold) this.#watch.hasServed(id, true, this.#run);
      }
    };
    return super.serveIn({ serve, isIndexed: run.isIndexed }, until);
  }
}
