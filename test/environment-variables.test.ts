import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pageText } from "./support/pages.ts";

const SOURCE = new URL("../src/", import.meta.url);

test("docs/configuration.md has every environment variable that groupsync itself reads", () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ts"),
  );
  // `env.NAME`, or `NAME: name` where an environment is taken apart.
  const read = files.flatMap((path) =>
    [
      ...readFileSync(new URL(path, SOURCE), "utf8").matchAll(
        /\benv\.([A-Z_]+)|^ {2}(GROUPSYNC_[A-Z_]+): /gm,
      ),
    ].map(([, dotted, taken]) => dotted ?? taken),
  );
  expect(read).toEqual(expect.arrayContaining(["GROUPSYNC_CONFIG", "GROUPSYNC_HTTP_LISTEN"]));
  const page = pageText("docs/configuration.md");
  expect(read.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
});
