import { expect, test } from "vitest";
import { fanOut } from "../../../src/core/report/fan-out.ts";

const failing = (message: string) => (): void => {
  throw new Error(message);
};

test("every listener gets each event, even if another one throws, and one line is reported for each that throws", () => {
  const heard: number[] = [];
  const problems: string[] = [];
  const tell = fanOut<number>(
    [failing("no\n  room"), (event) => heard.push(event), failing("no pen")],
    (problem) => problems.push(problem),
  );
  tell(1);
  tell(2);
  expect(heard).toEqual([1, 2]);
  expect(problems).toEqual(["no room", "no pen"]);
});

test("nobody to complain to is no reason to end either", () => {
  expect(() => fanOut([failing("no room")], failing("nobody there"))(1)).not.toThrow();
});
