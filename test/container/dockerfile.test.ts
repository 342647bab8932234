// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what a Dockerfile has
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { contextOf } from "./context.ts";
import { expand, pairsOf, parseDockerfile } from "./dockerfile.ts";
import { buildImage } from "./image.ts";

test("an instruction may continue over several lines, with comments between them", () => {
  const text = '# first\nFROM a AS b\n\nCOPY --from=b --chmod=0644 \\\n# why\n    x y ./\nCMD ["run"]\n';
  expect(parseDockerfile(text)).toEqual([
    { line: 2, name: "FROM", flags: new Map(), text: "a AS b" },
    { line: 4, name: "COPY", flags: new Map(Object.entries({ from: "b", chmod: "0644" })), text: "x y ./" },
    { line: 7, name: "CMD", flags: new Map(), text: '["run"]' },
  ]);
});

test("variables are replaced, and an unset variable becomes empty", () => {
  const variables = new Map([["VERSION", "1.2"]]);
  expect(expand("a:$VERSION-b:${VERSION}-c:$OTHER.", variables)).toBe("a:1.2-b:1.2-c:.");
  expect(pairsOf('a.b="one two" c="v${VERSION}" d=e', variables)).toEqual([
    ["a.b", "one two"],
    ["c", "v1.2"],
    ["d", "e"],
  ]);
});

test("in .dockerignore the last matching line decides, and a star also matches dot files", () => {
  const files = [".env", ".npmrc", "a.log", "package.json", "src/a.ts", "src/core/b.ts", "test/c.ts"];
  expect(contextOf(aFolder(files, "# none\n*\n!.npmrc\n!src\n!*.json\n"))).toEqual([
    ...[".npmrc", "package.json", "src/a.ts", "src/core/b.ts"],
  ]);
  expect(contextOf(aFolder(files, ".*\n*.log\ntest\n"))).toEqual([
    ...["package.json", "src/a.ts", "src/core/b.ts"],
  ]);
  expect(() => contextOf(aFolder(files, "src/core\n"))).toThrow("src/core is more than a name");
});

test.each([
  ["FROM a\nADD x y\n", "line 2: ADD is not understood"],
  ["FROM a\nCOPY --chmod=0644 x y\n", "line 2: --chmod is not understood"],
  ["FROM a\nRUN --mount=type=cache,target=/x true\n", "line 2: --mount is not understood"],
  ["FROM a\nCOPY --from=b x y\n", "line 2: there is no stage b yet"],
  ["FROM a\nCOPY x y\n", "line 2: .dockerignore keeps x out"],
  ["WORKDIR /x\nFROM a\n", "line 1: WORKDIR before FROM"],
])("%j is refused rather than passed over", async (dockerfile, message) => {
  const context = aFolder(["x"], "x\n");
  writeFileSync(join(context, "Dockerfile"), dockerfile);
  await expect(buildImage({ context, folder: join(context, "stages"), mounts: [], env: {} })).rejects.toThrow(
    message,
  );
});

function aFolder(files: readonly string[], dockerignore: string): string {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-context-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  }
  writeFileSync(join(folder, ".dockerignore"), dockerignore);
  return folder;
}
