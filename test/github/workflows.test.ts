import { execFile, execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { parseDockerfile } from "../container/dockerfile.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

interface Step {
  readonly id?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly outputs?: Readonly<Record<string, string>>;
  readonly needs?: readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const textOf = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
const manifest = JSON.parse(textOf("package.json"));

const files = readdirSync(join(REPOSITORY, ".github"), { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".yml"),
);
const read = (name: string) => parseDocument(textOf(`.github/${name}`));
const workflows = files.filter((name) => name.startsWith("workflows/"));
const jobsOf = (name: string): [string, Job][] => Object.entries((read(name).toJS() as Workflow).jobs);

test.each(files)("%s can be read", (name) => {
  const { errors, warnings } = read(name);
  expect([...errors, ...warnings]).toEqual([]);
});

describe.each(workflows)("%s", (name) => {
  const jobs = jobsOf(name);
  const steps = jobs.flatMap(([, job]) => job.steps);

  test("pins each action by a commit, with its version beside it: a tag can be moved to other code", () => {
    const actions = [...textOf(`.github/${name}`).matchAll(/uses: *(.*)/g)].map(([, action = ""]) => action);
    expect(actions).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length);
    const pinned = /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
    expect(actions.filter((action) => !pinned.test(action))).toEqual([]);
  });

  test("may read the repository, and write only where a job says so", () => {
    expect((read(name).toJS() as Workflow).permissions).toEqual({ contents: "read" });
    const more = jobs.flatMap(([job, { permissions }]) => (permissions ? [[job, permissions]] : []));
    expect(Object.fromEntries(more)).toEqual(name === "workflows/release.yml" ? RELEASE_PERMISSIONS : {});
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts.filter(({ with: options }) => options?.["persist-credentials"] !== false)).toEqual([]);
  });

  test("has jobs that end, and that wait for jobs of this workflow", () => {
    expect(jobs.filter(([, job]) => job["timeout-minutes"] === undefined)).toEqual([]);
    const names = jobs.map(([job]) => job);
    expect(jobs.flatMap(([, { needs = [] }]) => needs).filter((job) => !names.includes(job))).toEqual([]);
  });

  test("runs commands that the project has", () => {
    const commands = steps.flatMap(({ run }) => run?.trim().split("\n") ?? []);
    expect(commands.filter((command) => !isKnown(command))).toEqual([]);
  });
});

const RELEASE_PERMISSIONS = {
  image: { contents: "read", packages: "write" },
  publish: { contents: "write" },
};

function isKnown(command: string): boolean {
  const [, script] = /^npm run (?:--silent )?([\w:-]+)/.exec(command) ?? [];
  if (script !== undefined) return script in manifest.scripts;
  const [, file] = /^bash (\S+)$/.exec(command) ?? [];
  if (file !== undefined) return existsSync(join(REPOSITORY, file));
  // What comes with Node.js and bash, and on GitHub's machines.
  return /^npm (ci|pack)( --ignore-scripts)?$|^docker run |^gh release create |^node -p |^printf |^\[\[ /.test(
    command,
  );
}

test("a release's image is for two kinds of machines, with an SBOM and its provenance, and fills in every label", () => {
  const [, image] = jobsOf("workflows/release.yml").find(([name]) => name === "image") ?? [];
  const build = image?.steps.find(({ uses }) => uses?.startsWith("docker/build-push-action@"))?.with;
  expect(build).toMatchObject({
    ...{ platforms: "linux/amd64,linux/arm64", push: true, sbom: true, provenance: "mode=max" },
  });
  const given = [...String(build?.["build-args"]).matchAll(/^(\w+)=/gm)].map(([, name]) => name);
  const labels = parseDockerfile(textOf("Dockerfile")).find(({ name }) => name === "LABEL")?.text ?? "";
  const wanted = [...labels.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
  expect(given).toEqual(wanted);
});

test("one version of an action is one commit", () => {
  const texts = workflows.map((name) => textOf(`.github/${name}`)).join("\n");
  const commits = [...texts.matchAll(/uses: *([^@]+)@(\w+) # (\S+)/g)].map(([pinned]) => pinned);
  const actions = new Set(commits.map((pinned) => pinned.split("@")[0]));
  expect(new Set(commits).size).toBe(actions.size);
});

describe("a release's notes", () => {
  const release = Object.fromEntries(jobsOf("workflows/release.yml"));
  const step = release.publish?.steps.find(({ env }) => env?.DIGEST !== undefined);
  const DIGEST = `sha256:${"0a".repeat(32)}`;

  async function notesWith(digest: string): Promise<string> {
    const folder = temporaryFolder();
    const notes = join(folder, "release-notes.md");
    writeFileSync(notes, "First.\n");
    const env = { ...process.env, DIGEST: digest, IMAGE: "ghcr.io/us/groupsync" };
    // As GitHub runs a step.
    await promisify(execFile)("bash", ["-ec", step?.run ?? ""], { cwd: folder, env });
    return readFileSync(notes, "utf8");
  }

  test("name the image by the digest of the build that pushed it", async () => {
    const address = release.image?.steps.find(({ id }) => id === "address");
    const output = join(temporaryFolder(), "output");
    execFileSync("bash", ["-ec", address?.run ?? ""], {
      cwd: REPOSITORY,
      env: { ...process.env, GITHUB_OUTPUT: output },
    });
    expect(readFileSync(output, "utf8")).toBe(`image=${manifest.config.image}\n`);
    expect(release.image?.outputs?.name).toMatch(/^\$\{\{ steps\.address\.outputs\.image \}\}$/);
    expect(step?.env?.IMAGE).toMatch(/^\$\{\{ needs\.image\.outputs\.name \}\}$/);
    expect(step?.env?.DIGEST).toMatch(/^\$\{\{ needs\.image\.outputs\.digest \}\}$/);
    const [, pushed] =
      /^\$\{\{ steps\.(\w+)\.outputs\.digest \}\}$/.exec(release.image?.outputs?.digest ?? "") ?? [];
    const build = release.image?.steps.find(({ id }) => id === pushed);
    expect(build?.uses).toMatch(/^docker\/build-push-action@/);
    expect(await notesWith(DIGEST)).toBe(`First.\n\nThe image is \`ghcr.io/us/groupsync@${DIGEST}\`.\n`);
  });

  test.each(["", "sha256:", `${DIGEST}0`, "latest"])(
    "are not written, and nothing is published, without a digest: %j",
    async (digest) => {
      await expect(notesWith(digest)).rejects.toThrow("Command failed");
      expect(release.publish?.steps.at(-1)?.run).toMatch(/^gh release create /);
    },
  );
});

test("the release workflow's command prints the notes of the present version", async () => {
  const command = jobsOf("workflows/release.yml")
    .flatMap(([, { steps }]) => steps)
    .find(({ run }) => run?.includes("release-notes --"))?.run;
  const folder = temporaryFolder();
  const env = {
    ...process.env,
    GITHUB_REF_NAME: `v${manifest.version}`,
    GITHUB_SERVER_URL: "https://example.com",
    GITHUB_REPOSITORY: "us/groupsync",
  };
  const there = command?.replace(">release-notes.md", `>${folder}/release-notes.md`) ?? "";
  await promisify(execFile)("sh", ["-ec", there], { cwd: REPOSITORY, env });
  const notes = readFileSync(join(folder, "release-notes.md"), "utf8");
  expect(notes).toContain(`](https://example.com/us/groupsync/blob/v${manifest.version}/docs/`);
  expect(notes).not.toContain("Unreleased");
});
