import { describe, expect, it } from "vitest";
import { TenantQueue } from "../../../src/core/serving/tenant-queue.ts";

const MOST = { request: 2, column: 3, channel: 2, retry: 3 };

const aQueue = (...ids: string[]): TenantQueue => {
  const queue = new TenantQueue(MOST);
  ids.forEach((id, n) => void queue.add(id, "column", n));
  return queue;
};

describe("a tenant", () => {
  it("is served in the order in which it was noticed, and once however often it was noticed", () => {
    const queue = aQueue("a", "b", "a");
    expect(queue.take(9, 10)).toEqual(["a", "b"]);
    expect(queue.take(9, 10)).toEqual([]);
  });

  it("is served once more if it was noticed while it was being served, and not at the same time", () => {
    const queue = aQueue("a");
    queue.take(5, 1);
    queue.add("a", "column", 6);
    expect(queue.take(7, 1)).toEqual([]);
    expect(queue.done("a")?.noticedAt).toBe(0);
    expect(queue.take(7, 1)).toEqual(["a"]);
    expect(queue.done("a")?.noticedAt).toBe(6);
    expect(queue.isNoticed("a")).toBe(false);
  });

  it("that is due later is served then, or sooner if it is noticed again", () => {
    const queue = aQueue();
    queue.add("later", "column", 0, 100);
    expect(queue.take(99, 1)).toEqual([]);
    expect(queue.nextDueAt(0)).toBe(100);
    expect(queue.take(100, 1)).toEqual(["later"]);
    queue.add("again", "column", 100, 200);
    queue.add("again", "column", 110);
    expect(queue.take(110, 1)).toEqual(["again"]);
  });
});

it("a tenant that waits for its next try is due sooner, even if there is no room for whoever asks", () => {
  const queue = aQueue();
  queue.add("failing", "retry", 0, 100);
  queue.add("a", "request", 1, 50);
  queue.add("b", "request", 1, 50);
  expect(queue.add("failing", "request", 2)).toBe(true);
  expect(queue.take(2, 10)).toEqual(["failing"]);
});

it("no more tenants wait than the limit, and those that wait already still can be noticed", () => {
  const queue = aQueue("a", "b", "c");
  expect(queue.add("d", "column", 4)).toBe(false);
  expect(queue.add("a", "column", 4)).toBe(true);
  expect(queue.take(5, 10)).toEqual(["a", "b", "c"]);
});

it("the oldest tenant that is not served is known, with those that are being served", () => {
  const queue = aQueue("a", "b");
  expect(queue.oldestAt).toBe(0);
  queue.take(5, 1);
  expect(queue.oldestAt).toBe(0);
  queue.done("a");
  expect(queue.oldestAt).toBe(1);
  queue.take(5, 1);
  queue.done("b");
  expect(queue.oldestAt).toBeUndefined();
  queue.add("c", "column", 6, 1_000);
  expect(queue.oldestAt).toBe(6);
  expect(queue.nextDueAt(0)).toBe(1_000);
});

it("a tenant waits from its first notice on, also if its look has failed and it was noticed meanwhile", () => {
  const queue = aQueue();
  queue.add("a", "column", 5);
  queue.add("a", "column", 9);
  expect(queue.oldestAt).toBe(5);
  queue.take(9, 1);
  queue.add("a", "column", 10);
  queue.add("a", "column", queue.done("a")?.noticedAt ?? 11, 100);
  expect(queue.oldestAt).toBe(5);
});

describe("a tenant that is known to fail", () => {
  it("is not the oldest one, neither before its next try nor in it", () => {
    const queue = aQueue();
    queue.add("a", "retry", 0, 100);
    expect(queue.oldestAt).toBeUndefined();
    expect(queue.take(100, 1)).toEqual(["a"]);
    expect(queue.oldestAt).toBeUndefined();
    expect(queue.done("a")?.noticedAt).toBe(0);
  });

  it("waits from a new notice on, and the notice is no retry if the tenant fails meanwhile", () => {
    const queue = aQueue();
    queue.add("before", "retry", 0, 100);
    queue.add("before", "column", 50);
    expect(queue.oldestAt).toBe(50);
    expect(queue.take(50, 1)).toEqual(["before"]);
    queue.add("before", "column", 60);
    expect(queue.done("before")?.noticedAt).toBe(50);
    queue.add("before", "retry", 50, 160);
    expect(queue.oldestAt).toBe(60);
  });
});

describe("a request", () => {
  it("finds room while all others wait that may wait, and is taken before them", () => {
    const queue = aQueue("a", "b", "c");
    for (const id of ["x", "y"]) expect(queue.add(id, "channel", 3)).toBe(true);
    expect(queue.add("z", "channel", 3)).toBe(false);
    expect(queue.add("asked", "request", 4)).toBe(true);
    expect(queue.take(5, 10)).toEqual(["asked", "a", "b", "c", "x", "y"]);
  });

  it("for a tenant that waits already makes it urgent, and it still waits since its first notice", () => {
    const queue = aQueue("a", "b");
    queue.add("b", "request", 5);
    queue.add("b", "channel", 6);
    expect(queue.take(7, 1)).toEqual(["b"]);
    expect(queue.done("b")).toMatchObject({ origin: "request", noticedAt: 1 });
  });

  it("for a tenant that waits already is taken as it was if there is no room for more requests", () => {
    const queue = aQueue("a");
    for (const id of ["1", "2"]) queue.add(id, "request", 5);
    expect(queue.add("3", "request", 5)).toBe(false);
    expect(queue.add("a", "request", 5)).toBe(true);
    expect(queue.take(7, 3)).toEqual(["1", "2", "a"]);
  });
});
