import { onTestFinished } from "vitest";
import type { Notice } from "../../../src/core/changes/notice.ts";
import { Noticing } from "../../../src/daemon/changes/noticing.ts";
import type { LogEntry } from "../../../src/ports/log.ts";
import { FakeChannel, FakeFeed } from "../../fakes/change-feed.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

/** Both feeds of noticing, or one of them, in virtual time. */
export class NoticingStage {
  readonly clock = new VirtualClock(new VirtualTime());
  readonly feed = new FakeFeed(this.clock);
  readonly channel = new FakeChannel();
  readonly log: LogEntry[] = [];
  readonly notices: { readonly notice: Notice; readonly at: number }[] = [];
  readonly noticing: Noticing;

  constructor(feeds: readonly ("column" | "channel")[] = ["column", "channel"], everyMs = 1_000) {
    const { clock, feed, channel } = this;
    this.noticing = new Noticing(
      {
        ...(feeds.includes("column") && { column: { feed, everyMs } }),
        ...(feeds.includes("channel") && { channel }),
      },
      {
        clock,
        log: (entry) => this.log.push(entry),
        onNotice: (notice) => this.notices.push({ notice, at: clock.monotonic() }),
      },
    );
    onTestFinished(() => this.noticing.stop());
  }

  pass(ms: number): Promise<void> {
    return this.clock.sleep(ms);
  }

  /** The ids noticed since the last call; "anything" for what has no id. */
  noticed(): string[] {
    return this.notices
      .splice(0)
      .map(({ notice }) => (notice.kind === "tenant" ? notice.user_group_id : notice.kind));
  }

  /** The codes of the warnings since the last call. */
  warnings(): (string | undefined)[] {
    return this.log
      .splice(0)
      .filter(({ level }) => level === "warn")
      .map(({ code }) => code);
  }
}
