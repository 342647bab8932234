import { expect, test } from "vitest";
import { configSections, defaultOf, typeOf } from "../../../build/docs/config-reference.ts";

const keys = configSections().flatMap((section) => section.keys);

test("every key says what it means, what it may be, and what holds if it is left out", () => {
  expect(keys.length).toBeGreaterThan(80);
  const lacking = keys.filter(
    (key) =>
      !key.schema.description ||
      typeOf(key.schema) === "" ||
      (typeOf(key.schema) !== "a section" && defaultOf(key) === ""),
  );
  expect(lacking.map(({ key }) => key)).toEqual([]);
});
