import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { OPTIONAL_PACKAGES } from "../../src/adapters/token-stores/vendor-client.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { parseDockerfile } from "./dockerfile.ts";
import { imagePage } from "./image-page.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

test("docs/deploy.md has the packages of every store that needs some", () => {
  for (const [store, packages] of Object.entries(OPTIONAL_PACKAGES)) {
    expect(imagePage.text).toContain(`| \`${store}\` | \`${packages.join(" ")}\` |`);
  }
});

test("docs/deploy.md explains every argument of the Dockerfile", () => {
  const names = parseDockerfile(readFileSync(join(REPOSITORY, "Dockerfile"), "utf8"))
    .filter(({ name }) => name === "ARG")
    .map(({ text }) => text.replace(/=.*/, ""));
  expect(names).toContain("STORE_CLIENTS");
  const forBuilder = (name: string): boolean => name.startsWith("BUILDKIT_");
  const page = imagePage.text;
  expect(names.filter((name) => !forBuilder(name) && !page.includes(`\`${name}\``))).toEqual([]);
});

test("the documented command fills in every label, and leaves a password out of the source's address", () => {
  const folder = temporaryFolder();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: folder });
  cpSync(join(REPOSITORY, "package.json"), join(folder, "package.json"));
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "--message", "first");
  git("remote", "add", "origin", "https://me:s3cret@example.com/groupsync.git");
  // In place of Docker: prints what it is called with.
  writeFileSync(join(folder, "docker"), '#!/bin/sh\nprintf "%s\\n" "$@"\n');
  chmodSync(join(folder, "docker"), 0o755);

  const env = { ...process.env, PATH: [folder, process.env.PATH].join(delimiter) };
  const printed = execFileSync("sh", ["-ec", imagePage.build], { cwd: folder, env, encoding: "utf8" });
  const args = Object.fromEntries(
    [...printed.matchAll(/^([A-Z]+)=(.*)$/gm)].map(([, key, value]) => [key, value]),
  );
  expect(args).toEqual({
    VERSION: JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")).version,
    REVISION: expect.stringMatching(/^[0-9a-f]{40}$/),
    CREATED: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    SOURCE: "https://example.com/groupsync.git",
  });
});
