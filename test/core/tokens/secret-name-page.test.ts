import { expect, test } from "vitest";
import { parseSecretPath, SECRET_NAMING, secretName } from "../../../src/core/tokens/secrets.ts";
import { documentedBlocks, NODE, python, startDocumented } from "../../support/documented-code.ts";
import { findPython } from "../../support/servers/python.ts";

const IDS = [
  "cus-1001",
  "cus_1/A",
  "a.b c",
  'it\'s "quoted"',
  "Zürich 😀",
  "=2F",
  "x".repeat(501),
  "x".repeat(502),
  "é".repeat(84),
];
const debianPython = await findPython();

const path = parseSecretPath("dashboards/{{ user_group_id }}") ?? ["", ""];
const names = IDS.map((id) => secretName(id, path, SECRET_NAMING.vault));

const block = (language: "js" | "python", name: string): string[] =>
  documentedBlocks("docs/secret-stores.md", language).filter((code) => code.includes(name));

test("the function of the page in Node.js names secrets as groupsync does", async () => {
  const app = startDocumented(NODE, block("js", "function secretName"), {});
  expect(await app.ask(`${JSON.stringify(IDS)}.map(secretName)`)).toEqual(names);
});

test.skipIf(debianPython === null)("so does the function in Python", async () => {
  const { program, env } = debianPython ?? { program: "", env: {} };
  const app = startDocumented(python(program), block("python", "def secret_name"), env);
  expect(
    await app.ask(`[secret_name(id) for id in json.loads(${JSON.stringify(JSON.stringify(IDS))})]`),
  ).toEqual(names);
});
