import type { RecordedRun } from "../ports/ledger.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { RunSummary } from "../ports/observer.ts";
import { findingsOf } from "./findings.ts";
import { newsText } from "./news.ts";
import { type Findings, judge, type Troubles } from "./trouble.ts";

/** Tells people outside of what changes from sync to sync, and a monitor of each good one. Holds up nobody. */
export class Announcer {
  #troubles: Troubles = {};
  readonly #beats = new Set<Promise<void>>();
  /** One message after the other: the end of a trouble must not overtake its beginning. */
  #told = Promise.resolve();

  /** What these runs, newest first, have shown is known by now: it is no news. */
  recall(history: readonly RecordedRun[], others: Findings, now: Date): void {
    this.#troubles = {};
    for (const { command, result, finishedAt } of history.toReversed())
      if (command === "sync" && result && finishedAt) this.#take(findingsOf(result), finishedAt);
    this.#take(others, now);
  }

  /** In the background. `others` is what has come to light beside the run. */
  announce(name: string, run: RunSummary, others: Findings, notifier: Notifier, now: Date): void {
    if (run.outcome !== "failed") this.#beat(notifier);
    const news = this.#take({ ...findingsOf(run), ...others }, now);
    if (news.length === 0) return;
    const text = newsText(name, news, this.#troubles, run, now);
    this.#told = this.#told.then(() => notifier.tell(text));
  }

  /** Resolves once all is told. */
  async ended(): Promise<void> {
    await Promise.all([this.#told, ...this.#beats]);
  }

  #take(findings: Findings, now: Date) {
    const { troubles, news } = judge(this.#troubles, findings, now);
    this.#troubles = troubles;
    return news;
  }

  #beat(notifier: Notifier): void {
    const beat = notifier.beat();
    this.#beats.add(beat);
    void beat.finally(() => this.#beats.delete(beat));
  }
}
