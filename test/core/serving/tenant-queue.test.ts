import { describe, expect, it } from "vitest";
import { TenantQueue } from "../../../src/core/serving/tenant-queue.ts";

const aQueue = (...ids: string[]): TenantQueue => {
  const queue = new TenantQueue(3);
  ids.forEach((id, n) => void queue.add(id, n));
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
    queue.add("a", 6);
    expect(queue.take(7, 1)).toEqual([]);
    expect(queue.done("a")).toBe(0);
    expect(queue.take(7, 1)).toEqual(["a"]);
    expect(queue.done("a")).toBe(6);
    expect(queue.isNoticed("a")).toBe(false);
  });

  it("that is due later is served then, or sooner if it is noticed again", () => {
    const queue = aQueue();
    queue.add("later", 0, 100);
    expect(queue.take(99, 1)).toEqual([]);
    expect(queue.nextDueAt).toBe(100);
    expect(queue.take(100, 1)).toEqual(["later"]);
    queue.add("again", 100, 200);
    queue.add("again", 110);
    expect(queue.take(110, 1)).toEqual(["again"]);
  });
});

it("no more tenants wait than the limit, and those that wait already still can be noticed", () => {
  const queue = aQueue("a", "b", "c");
  expect(queue.add("d", 4)).toBe(false);
  expect(queue.add("a", 4)).toBe(true);
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
  queue.add("c", 6, 1_000);
  expect(queue.oldestAt).toBe(6);
  expect(queue.nextDueAt).toBe(1_000);
});

it("a tenant waits from its first notice on, also if its look has failed and it was noticed meanwhile", () => {
  const queue = aQueue();
  queue.add("a", 5);
  queue.add("a", 9);
  expect(queue.oldestAt).toBe(5);
  queue.take(9, 1);
  queue.add("a", 10);
  queue.add("a", queue.done("a") ?? 11, 100);
  expect(queue.oldestAt).toBe(5);
});

describe("a tenant that is known to fail", () => {
  it("is not the oldest one, neither before its next try nor in it", () => {
    const queue = aQueue();
    queue.addRetry("a", 0, 100);
    expect(queue.oldestAt).toBeUndefined();
    expect(queue.take(100, 1)).toEqual(["a"]);
    expect(queue.oldestAt).toBeUndefined();
    expect(queue.done("a")).toBe(0);
  });

  it("waits from a new notice on, and the notice is no retry if the tenant fails meanwhile", () => {
    const queue = aQueue();
    queue.addRetry("before", 0, 100);
    queue.add("before", 50);
    expect(queue.oldestAt).toBe(50);
    expect(queue.take(50, 1)).toEqual(["before"]);
    queue.add("before", 60);
    expect(queue.done("before")).toBe(50);
    queue.addRetry("before", 50, 160);
    expect(queue.oldestAt).toBe(60);
  });
});
