import { expect, test } from "vitest";
import { INSTALLATIONS } from "../../installations/installations.ts";
import { type Result, results } from "../../installations/results.ts";

test("every installation of the suite has a result, except MySQL if it can't be had", () => {
  const all = INSTALLATIONS.map(identity);
  const recorded = results().map(identity);
  const isTried = recorded.some(({ server }) => server === "MySQL");
  expect(recorded).toEqual(all.filter(({ server }) => isTried || server !== "MySQL"));
});

/** What names an installation in the table. */
const identity = ({
  name,
  server,
  through,
  variant,
}: Pick<Result, "name" | "server" | "through" | "variant">) => ({ name, server, through, variant });
