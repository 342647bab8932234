import { expect, test } from "vitest";
import { importsOf, neededBy, readSource } from "./source-text.ts";

const imports = (source: string) => importsOf(readSource(source));

test("types, and what is imported on the way, need not be there first", () => {
  const source = `
    import pg from "pg";
    import type { Group } from './group.ts';
    import {
      type Rule,
      columnsOf,
    } from "./rule.ts";
    import "./side-effect.ts";
    export * from "./json.ts";
    export type { Json } from "./json.ts";
    const later = await import("undici");
  `;
  expect(neededBy(readSource(source))).toEqual(["pg", "./rule.ts", "./side-effect.ts", "./json.ts"]);
});

test("what comments, strings, templates and regular expressions say is not code", () => {
  const source = `
    // import a from "a"; it's "quoted
    /* import b from "b";
       import('c') */
    const text = 'import d from "d"' + "from \\"e\\"";
    const url = "https://example.com"; import f from "f";
    const sql = \`SELECT '\${quote(\`\${"g"} from "h"\`)}' from "i" -- \\\` \${{ a: { b: 1 } }.a[key()]}\`;
    const odd = line.replace(/["'\`/]/g, "") || /[/"]\\/"/.test(line); import j from "j";
    const half = (a + b) / 2; import k from "k"; const quarter = half / 2;
  `;
  expect(imports(source)).toEqual(["f", "j", "k"]);
  expect(readSource(source).code).toMatch(/quote\(.*key\(/);
});
