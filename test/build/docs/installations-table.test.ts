import { expect, test } from "vitest";
import { rowsOf } from "../../../build/docs/installations-table.ts";
import { STEPS } from "../../installations/installation.ts";
import { INSTALLATIONS } from "../../installations/installations.ts";
import { type Result, results } from "../../installations/results.ts";

const aResult = (overrides: Partial<Result>): Result => ({
  name: "PostgreSQL 18",
  server: "PostgreSQL",
  through: "",
  version: "18.4",
  shown: STEPS.filter((step) => step !== "failover"),
  ...overrides,
});

test("joins what is of one kind, and names what isn't shown", () => {
  const pooled = { through: "PgBouncer", between: "PgBouncer 1.18.0" };
  expect(
    rowsOf([
      aResult({ version: "17.10" }),
      aResult({}),
      aResult({ ...pooled, variant: "a pool of 1", shown: [], refused: true }),
      aResult({ ...pooled, variant: "a pool of 2" }),
      aResult({ ...pooled, variant: "a pool of 3" }),
      aResult({ through: "a replica", shown: [...STEPS] }),
      aResult({
        server: "MySQL",
        shown: STEPS.filter((step) => step !== "channel" && step !== "failover"),
        cannot: { channel: "MySQL has none" },
      }),
    ]),
  ).toEqual([
    ["PostgreSQL", "17.10, 18.4", "nothing in between", "all", ""],
    [
      "PostgreSQL",
      "18.4; PgBouncer 1.18.0",
      "PgBouncer: a pool of 2, a pool of 3",
      "all",
      "a pool of 1: `check` refuses it",
    ],
    ["PostgreSQL", "18.4", "a replica", "all, and a failover", ""],
    ["MySQL", "18.4", "nothing in between", "all but channel", "MySQL has none"],
    ["distributed SQL", "", expect.stringContaining("CockroachDB"), "", "all: never tried"],
  ]);
});

test("every installation of the suite has a result, except MySQL if it can't be had", () => {
  const described = INSTALLATIONS.map(({ name, server, through, variant }) => ({
    name,
    server,
    through,
    variant,
  }));
  const recorded = results().map(({ name, server, through, variant }) => ({
    name,
    server,
    through,
    variant,
  }));
  const isTried = recorded.some(({ server }) => server === "MySQL");
  expect(recorded).toEqual(described.filter(({ server }) => isTried || server !== "MySQL"));
});
