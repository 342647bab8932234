import { expect, test } from "vitest";
import { toEach } from "../../src/core/listeners.ts";

const failing = (message: string) => (): void => {
  throw new Error(message);
};

test("all are told of each event, whoever fails, and each failing one is complained of once in one line", () => {
  const heard: number[] = [];
  const problems: string[] = [];
  const tell = toEach<number>(
    [failing("no\n  room"), (event) => heard.push(event), failing("no pen")],
    (problem) => problems.push(problem),
  );
  tell(1);
  tell(2);
  expect(heard).toEqual([1, 2]);
  expect(problems).toEqual(["no room", "no pen"]);
});

test("nobody to complain to is no reason to end either", () => {
  expect(() => toEach([failing("no room")], failing("nobody there"))(1)).not.toThrow();
});
