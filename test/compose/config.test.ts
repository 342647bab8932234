// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { expect, test } from "vitest";
import { readableSecrets } from "../../src/compose/config.ts";

const PATH = "/etc/groupsync/config.yaml";
const hintFor = (owner: number, uid: number) => readableSecrets(PATH, { mode: 0o644, uid: owner }, uid).hint;

test("the remedy leaves the file readable for this process", () => {
  const refer = "write ${NAME} or ${file:/path} in their place; or ";
  expect(hintFor(1000, 1000)).toBe(`${refer}chmod 600 '${PATH}'`);
  expect(hintFor(1000, 0)).toBe(`${refer}chmod 600 '${PATH}'`);
  expect(hintFor(0, 10001)).toBe(`${refer}chown 10001 '${PATH}' && chmod 600 '${PATH}'`);
});
