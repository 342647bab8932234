import { expect, test } from "vitest";
import { type ConfigKey, configSections, defaultOf, typeOf } from "../../../build/docs/config-reference.ts";

const sections = configSections();
const keys = sections.flatMap((section) => section.keys);
const keyIn = (heading: string, key: string): ConfigKey => {
  const found = sections
    .find((section) => section.heading.endsWith(heading))
    ?.keys.find((one) => one.key === key);
  if (found === undefined) throw new Error(`no ${key} in ${heading}`);
  return found;
};

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

test("the value of a key is told as the program tells it to whoever writes another one", () => {
  const timeout = keyIn("`service`", "timeout");
  expect([typeOf(timeout.schema), defaultOf(timeout)]).toEqual(["a duration up to 1h, like `15s`", "`15s`"]);
  expect(typeOf(keyIn("`service`", "update").schema)).toBe("`upsert`, `replace` or `never`");
  expect(defaultOf(keyIn("`service`", "api_key"))).toBe("required");
  expect(typeOf(keyIn("`deletion`", "limit.count").schema)).toBe("a whole number from 0 to 1000000");
  expect(keyIn("`store: vault`", "auth.role").when).toBe("With `method: kubernetes`: ");
});
