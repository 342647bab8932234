import { describe, expect, it } from "vitest";
import { problemsOf } from "../config-file.ts";

describe("a report", () => {
  const many = (count: number, line: (n: number) => string): string =>
    Array.from({ length: count }, (_, n) => line(n)).join("\n");

  it("shows the first hundred problems and the number of the others", () => {
    const problems = problemsOf(many(10_000, (n) => `k${n}: 1`)).split("\n");
    expect(problems).toHaveLength(102);
    expect(problems[0]).toMatch(/^config\.yaml has 100\d\d problems:$/);
    expect(problems[101]).toMatch(/^ {2}… and 99\d\d more$/);
  });
});
