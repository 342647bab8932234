import { expect, onTestFinished } from "vitest";
import { hostClock } from "../../src/adapters/host/clock.ts";
import { composeNoticing } from "../../src/compose/serving.ts";
import type { Noticing } from "../../src/daemon/changes/noticing.ts";
import type { LogEntry } from "../../src/ports/log.ts";
import { load, withKeys } from "../config/config-file.ts";

/** Notices on a real database, from the config on. */
export class LiveNoticing {
  readonly #noticing: Noticing;
  readonly #noticed: string[] = [];
  readonly log: LogEntry[];

  private constructor(noticing: Noticing, noticed: string[], log: LogEntry[]) {
    this.#noticing = noticing;
    this.#noticed = noticed;
    this.log = log;
  }

  /** Starts to notice what the keys of `source.changes` say. */
  static async start(url: string, changes: object): Promise<LiveNoticing> {
    const noticed: string[] = [];
    const log: LogEntry[] = [];
    const source = { url, table: "customers", changes };
    const config = load(withKeys({ source, group: { id: "id", name: "name" } }));
    const noticing = await composeNoticing(config, {
      clock: hostClock,
      log: (entry) => log.push(entry),
      onNotice: (notice) => noticed.push(notice.kind === "tenant" ? notice.user_group_id : notice.kind),
    });
    if (noticing === null) throw new Error("the config names no feed to notice changes");
    onTestFinished(() => noticing.stop());
    await noticing.start();
    return new LiveNoticing(noticing, noticed, log);
  }

  get state(): Noticing["state"] {
    return this.#noticing.state;
  }

  stop(): Promise<void> {
    return this.#noticing.stop();
  }

  /** What was noticed since the last call. */
  take(): string[] {
    return this.#noticed.splice(0);
  }

  /** Waits until all of these were noticed since the last `take`. */
  async until(...ids: readonly string[]): Promise<void> {
    const missing = () => ids.filter((id) => !this.#noticed.includes(id));
    await expect.poll(missing, { timeout: 60_000, interval: 10 }).toEqual([]);
  }

  /** Waits until the way is alive. */
  async untilAlive(feed: "column" | "channel"): Promise<void> {
    await expect.poll(() => this.state[feed]?.failure, { timeout: 60_000, interval: 10 }).toBeNull();
  }
}
