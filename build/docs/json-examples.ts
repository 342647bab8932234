import { readFileSync } from "node:fs";

const EXAMPLES = new URL("../../docs/json/", import.meta.url);

/** What a command printed with --json, as `test/e2e/output/json-examples.test.ts` has recorded it. */
export const jsonExample = (command: string): string =>
  `\`\`\`json\n${readFileSync(new URL(`${command}.json`, EXAMPLES), "utf8").trim()}\n\`\`\``;
