import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { buildImage } from "./image.ts";

test.each([
  ["FROM a\nADD x y\n", "line 2: ADD is not understood"],
  ["FROM a\nCOPY --chmod=0644 x y\n", "line 2: --chmod is not understood"],
  ["FROM a\nRUN --mount=type=cache,target=/x true\n", "line 2: --mount is not understood"],
  ["FROM a\nCOPY --from=b x y\n", "line 2: there is no stage b yet"],
  ["FROM a\nCOPY x y\n", "line 2: .dockerignore keeps x out"],
  ["WORKDIR /x\nFROM a\n", "line 1: WORKDIR before FROM"],
])("%j is refused rather than passed over", async (dockerfile, message) => {
  const context = temporaryFolder();
  for (const [name, text] of Object.entries({ Dockerfile: dockerfile, ".dockerignore": "x\n", x: "" }))
    writeFileSync(join(context, name), text);
  await expect(buildImage({ context, folder: join(context, "stages"), mounts: [], env: {} })).rejects.toThrow(
    message,
  );
});
