import { describe, expect, test } from "vitest";
import { channelFindings, columnFindings } from "../../../src/engine/check/changes.ts";
import { FakeChannel, FakeFeed } from "../../fakes/change-feed.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { allOf, signsOf } from "./findings.ts";

const never = new AbortController().signal;

describe("the change column", () => {
  const aFeed = () => new FakeFeed(new VirtualClock(new VirtualTime()));

  test("is well with values and an index, and is closed afterwards", async () => {
    const feed = aFeed();
    feed.insert("a");
    expect(signsOf(await allOf(columnFindings(feed, "public.customers", never)))).toEqual(["✓"]);
    expect(feed).toMatchObject({ before: "public.customers", opened: 1, openNow: 0 });
  });

  test("without an index is a warning with the statement that makes it", async () => {
    const feed = aFeed();
    feed.insert("a");
    feed.missing = "CREATE INDEX ON customers (updated_at)";
    const found = await allOf(columnFindings(feed, null, never));
    expect(found).toMatchObject([{ level: "warning", code: "CHANGES_NOT_INDEXED", hint: feed.missing }]);
  });

  test("without a value is a warning", async () => {
    const found = await allOf(columnFindings(aFeed(), null, never));
    expect(found).toMatchObject([
      { level: "warning", hint: expect.stringContaining("every insert and update") },
    ]);
  });
});

describe("the change channel", () => {
  test("is well if notifications arrive, and is closed afterwards", async () => {
    const channel = new FakeChannel();
    expect(signsOf(await allOf(channelFindings(channel, never)))).toEqual(["✓"]);
    expect(channel).toMatchObject({ probes: 1, openNow: 0 });
  });
});
