import { expect, test } from "vitest";
import { type ConfigKey, configSections } from "../../../build/docs/config-reference.ts";
import { CONFIG_KEYS } from "../../../src/config/descriptions/config-keys.ts";
import { type Descriptions, describing } from "../../../src/config/descriptions/description.ts";
import { configJsonSchema } from "../../../src/config/schema/json-schema.ts";

const sections = configSections();
const keyIn = (heading: string, key: string): ConfigKey | undefined =>
  sections.find((section) => section.heading.endsWith(heading))?.keys.find((one) => one.key === key);

test("every key says what it means, and what holds if it is left out", () => {
  const keys = sections.flatMap((section) => section.keys);
  expect(keys.length).toBeGreaterThan(80);
  const lacking = keys.filter(({ meaning, otherwise }) => !meaning || otherwise === undefined);
  expect(lacking.map(({ key }) => key)).toEqual([]);
});

test("no key is described that the config doesn't have", () => {
  const schema = JSON.stringify(configJsonSchema());
  const texts = textsIn(CONFIG_KEYS).map((text) => JSON.stringify(text.replaceAll("`", "")).slice(1, -1));
  expect(texts.filter((text) => !schema.includes(text))).toEqual([]);
});

test("the value of a key is told as the program tells it to whoever writes another one", () => {
  expect(keyIn("`service`", "timeout")).toMatchObject({
    type: "a duration up to 1h, like `15s`",
    otherwise: "`15s`",
  });
  expect(keyIn("`service`", "update")?.type).toBe("`upsert`, `replace` or `never`");
  expect(keyIn("`service`", "api_key")?.otherwise).toBe("required");
  expect(keyIn("`deletion`", "limit.count")).toMatchObject({ type: "a whole number from 0 to 1000000" });
  expect(keyIn("`store: vault`", "auth.role")?.meaning).toMatch(/^With `method: kubernetes`: /);
});

function textsIn(descriptions: Descriptions): string[] {
  return Object.values(descriptions).flatMap((described) => {
    const { text, keys = {}, kinds = {} } = describing(described);
    return [text, ...textsIn(keys), ...Object.values(kinds).flatMap(textsIn)];
  });
}
