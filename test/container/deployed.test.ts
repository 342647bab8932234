import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { image as described, documentsIn, type Manifest, SECRETS } from "../deploy/files.ts";
import { aNewcomer } from "../e2e/first-steps/newcomer.ts";
import { aWorld } from "../e2e/world.ts";
import type { DatabaseKind } from "../support/databases/database-server.ts";
import { freshDatabase } from "../support/databases/fresh-database.ts";
import { pageText } from "../support/pages.ts";
import { runContainer } from "./container.ts";
import type { Image } from "./image.ts";
import { layBase, type Mount, whyNoContainer } from "./machine.ts";

const PAGE = "docs/deploy.md";
const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));

/** What the page has the image do with the words of `groupsync`, in the folder /here. */
const [, init = ""] = /^ {2}groupsync (init --for container .*)$/m.exec(pageText(PAGE)) ?? [];
const SERVICE = "https://dashboards.example.com";

/** The arguments of each Job of Kubernetes, in the order of the page. */
const [{ spec: backfill }] = documentsIn("kubernetes/backfill/job.yaml");
const [{ spec: cronjob }] = documentsIn("kubernetes/cronjob/cronjob.yaml");
const containerOf = ({ template }: Manifest): Manifest => template.spec.containers[0];
const jobs: readonly (readonly string[])[] = [
  ...["check", "probe", "plan"].map((name) => {
    const [{ patches }] = documentsIn(`kubernetes/${name}/kustomization.yaml`);
    const [, args = ""] = /containers\/0\/args, value: \[(.*)\]/.exec(patches[0].patch) ?? [];
    return args.split(", ");
  }),
  containerOf(backfill).args,
  containerOf(cronjob.jobTemplate.spec).args,
];
describe.skipIf(whyNoContainer() !== undefined)("the files in deploy/", () => {
  let root: string;
  let image: Image;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "groupsync-deployed-"));
    layBase(root);
    image = {
      ...{ root, base: "", labels: {}, healthcheck: [], stopSignal: "SIGTERM", workdir: "/here" },
      ...{ env: { GROUPSYNC_CONFIG: described.config }, user: described.user },
      ...{ entrypoint: ["node", "/opt/groupsync/dist/main.js"], cmd: ["run"] },
    };
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const PROGRAM: readonly Mount[] = ["dist", "package.json"].map((name) => ({
    source: join(REPOSITORY, name),
    target: `/opt/groupsync/${name}`,
  }));

  test.each<[DatabaseKind]>([["postgres"], ["mysql"]])(
    "lead on %s from the config that the page has init write to a sync, with exactly the files that are mounted",
    async (kind) => {
      if (inject(`${kind}Url`) === null) return;
      const world = await aWorld({ database: await freshDatabase(kind), tenants: 3 });
      await world.database.query("UPDATE customers SET warehouse = NULL WHERE id = 't-00002'");
      const newcomer = await aNewcomer(world);
      const here = dirname(newcomer.configFile);
      chmodSync(here, 0o777);

      const words = init.split(" ").map((word) => (word === SERVICE ? world.sandbox.baseUrl : word));
      const written = await runContainer(image, {
        args: [...words, "--mapping", "40=warehouse"],
        env: { DATABASE_URL: world.database.url },
        mounts: [...PROGRAM, { source: here, target: "/here", writable: true }],
      });
      expect(written).toMatchObject({ code: 0, stderr: "" });
      for (const name of Object.keys(SECRETS)) expect(written.stdout).toContain(`> secrets/${name}\n`);
      await newcomer.followSteps();

      const { DATABASE_URL: source = "", GROUPSYNC_DATABASE_URL: own = "" } = world.env;
      const secrets = join(world.folder, "secrets");
      mkdirSync(secrets);
      const contents = { "api-key": world.sandbox.apiKey, "source-url": source, "database-url": own };
      for (const [name, content] of Object.entries(contents)) writeFileSync(join(secrets, name), content);
      chmodSync(secrets, 0o755);
      chmodSync(newcomer.configFile, 0o644);
      chmodSync(here, 0o755);

      const mounts = containerOf(backfill).volumeMounts as Manifest[];
      const pathOf = (volume: string): string => mounts.find(({ name }) => name === volume).mountPath;
      const run = async (args: readonly string[]) => {
        const ended = await runContainer(image, {
          args,
          mounts: [
            ...PROGRAM,
            { source: here, target: pathOf("config") },
            { source: secrets, target: pathOf("secrets") },
          ],
        });
        expect(ended, `${args.join(" ")}: ${ended.stderr}${ended.stdout}`).toMatchObject({ code: 0 });
        return ended.stdout;
      };
      const outputs: string[] = [];
      for (const args of jobs) outputs.push(await run(args));
      expect(outputs[0]).toContain("Everything that a sync needs is there");
      expect(outputs[2]).toContain("Plan: 2 to create");
      expect(JSON.parse(outputs[3] ?? "")).toMatchObject({ outcome: "partial", created: 2, rejected: 1 });
      expect(JSON.parse(outputs[4] ?? "")).toMatchObject({ outcome: "partial", unchanged: 2 });
      expect(await newcomer.tokens()).toEqual(await world.live());
    },
  );
});
