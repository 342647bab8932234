import { mayExist } from "./rotation-checks.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import type { RunRecord } from "./watch.ts";

interface Wish {
  /** The token that was live at the service when the operator last asked for a new one; undefined if there was no group. */
  readonly token: string | undefined;
  /** Whether a run that nothing disturbs has had the answer of a POST since. */
  isAnswered: boolean;
}

/**
 * The new tokens that operators have asked for, and that are neither there nor taken back. A wish may end only once the
 * token from the moment of the wish is dead, and no token is rotated without a wish, nor twice for one. A doubt is the wish for a
 * GET.
 */
export class Wishes {
  readonly #world: SimulatedWorld;
  readonly #open = new Map<string, Wish>();
  /** The groups in doubt; true: a GET has been answered since. */
  readonly #doubted = new Map<string, boolean>();

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  /** The groups whose new tokens are wanted, and that still have the tokens from the moment of the wish. */
  get left(): readonly string[] {
    return [...this.#open.keys()].filter((id) => this.#isLive(id));
  }

  /** The ledger went back to a state that knows nothing of the wishes since. */
  forget(): void {
    this.#open.clear();
    this.#doubted.clear();
  }

  /** A rotation has recorded what is wanted, and sends its calls from now on. */
  recorded({ toRotate }: RunRecord): void {
    for (const id of toRotate?.keys() ?? []) {
      if (this.#world.ledger.rows.get(id)?.wantedSince) this.#add(id);
      else if (mayExist(this.#world.ledger.rows.get(id)))
        this.#breach(`13: the new token of ${id} is asked for, and the ledger doesn't know it`);
    }
  }

  /** A sync reads the source. If it is to refresh, the ledger knows for which groups; its session, or another run, may have asked. */
  begins({ wantsRefresh, isAbout, lookedUp, isDisturbed }: RunRecord): void {
    if (!wantsRefresh || isDisturbed) return;
    for (const [id, { doubt, fingerprint }] of this.#world.ledger.rows)
      if (isAbout(id) && !lookedUp.has(id) && doubt === null && fingerprint !== null)
        this.#breach(`13: ${id} is to be asked for again, and the ledger doesn't know it`);
  }

  /** A GET was answered. */
  told(id: string): void {
    if (this.#doubted.has(id)) this.#doubted.set(id, true);
  }

  /** A run has committed something. */
  committed({ takesBack }: RunRecord): void {
    const { rows } = this.#world.ledger;
    for (const [id, { doubt }] of rows) if (doubt && !this.#doubted.has(id)) this.#doubted.set(id, false);
    for (const [id, isTold] of this.#doubted) {
      const row = rows.get(id);
      if (row?.doubt) continue;
      if (row?.fingerprint && !isTold)
        this.#breach(`13: ${id} is not in doubt any more, and nobody has asked`);
      this.#doubted.delete(id);
    }
    for (const [id, { wantedSince }] of rows) if (wantedSince && !this.#open.has(id)) this.#add(id);
    for (const id of this.#open.keys()) {
      if (rows.get(id)?.wantedSince) continue;
      if (!takesBack && this.#isLive(id) && !this.#isGivenUp(id))
        this.#breach(`13: the new token of ${id} is not wanted any more, and the old one is live`);
      this.#open.delete(id);
    }
  }

  /** A POST arrives at the service. */
  rotates(id: string, { holder, config }: RunRecord): void {
    if (config.rotation.maxAgeMs !== null) return;
    const wish = this.#open.get(id);
    if (wish === undefined)
      this.#breach(`8: ${holder} rotates the token of ${id}, which nobody has asked for`);
    if (wish?.isAnswered) this.#breach(`8: ${holder} rotates the token of ${id} twice for one wish`);
  }

  /** The answer of a POST has arrived. */
  answered(id: string, { isDisturbed }: RunRecord): void {
    const wish = this.#open.get(id);
    if (wish && !isDisturbed) wish.isAnswered = true;
  }

  #add(id: string): void {
    this.#open.set(id, { token: this.#world.service.groups.get(id)?.token, isAnswered: false });
  }

  #isLive(id: string): boolean {
    const live = this.#world.service.groups.get(id)?.token;
    return live !== undefined && live === this.#open.get(id)?.token;
  }

  /** The tenant is gone, and a store lacks its token: nobody needs a new one. */
  #isGivenUp(id: string): boolean {
    const { ledger, stores } = this.#world;
    return ledger.rows.get(id)?.absence !== null && stores.some(({ tokens }) => !tokens.has(id));
  }

  #breach(what: string): void {
    this.#world.watch.breach(what);
  }
}
