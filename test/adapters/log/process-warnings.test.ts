import { beforeEach, expect, test } from "vitest";
import { processWarnings } from "../../../src/adapters/log/process-warnings.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";

let told: RunEvent[] = [];
let warn: (warning: Error) => void = () => {};

beforeEach(() => {
  told = [];
  warn = processWarnings((event) => told.push(event));
});

const aWarning = (name: string, message: string): Error => Object.assign(new Error(message), { name });

test.each([
  ["DeprecationWarning", "this is old", "DeprecationWarning: this is old"],
  // The AWS SDK's.
  [
    "Warning",
    "NodeVersionSupportWarning: this is new,\nand\n\nlong ",
    "NodeVersionSupportWarning: this is new, and long",
  ],
])("%s: %j is a warning of the run's, in one line that says once what it is", (name, message, line) => {
  warn(aWarning(name, message));
  expect(told).toEqual([{ kind: "warning", code: "PROCESS_WARNING", message: `Node.js warns: ${line}` }]);
});

test("each is told once", () => {
  for (const message of ["one", "other", "one"]) warn(aWarning("Warning", message));
  expect(told).toMatchObject(
    [{ message: /one/ }, { message: /other/ }].map(({ message }) => ({
      message: expect.stringMatching(message),
    })),
  );
});

test("the credentials of a url stay out of it", () => {
  warn(
    aWarning(
      "DeprecationWarning",
      "The URL postgres://app:hunter2/@hunter2@db:x/crm is invalid, not https://v",
    ),
  );
  expect(told).toMatchObject([
    { message: "Node.js warns: DeprecationWarning: The URL postgres://…@db:x/crm is invalid, not https://v" },
  ]);
});
