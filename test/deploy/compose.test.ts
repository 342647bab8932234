import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { blocksIn, sectionText } from "../support/pages.ts";
import { findCompose } from "../support/servers/debian-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { documentsIn, image, loadDeployed, type Manifest, secretsAt } from "./files.ts";

const compose = await findCompose();
const FILES = ["compose/compose.yaml", "compose/production.yaml"];
const servicesOf = (file: string): Readonly<Record<string, Manifest>> => documentsIn(file)[0].services;

/** Each service with groupsync's image, by its file. */
const ours = FILES.flatMap((file) =>
  Object.entries(servicesOf(file))
    .filter(([, service]) => service.image === "groupsync")
    .map(([name, service]): [string, string, Manifest] => [file, name, service]),
);

test.each(ours)("%s: %s has few rights, and no secrets in its environment", (_, __, service) => {
  expect(service).toMatchObject({
    ...{ read_only: true, tmpfs: ["/tmp"], cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] },
    ...{ ulimits: { core: 0 }, memswap_limit: service.mem_limit, pids_limit: 100 },
  });
  // A process's environment can be read in more places than a file.
  expect(service.environment).toBeUndefined();
  expect((service.volumes ?? []).filter((volume: string) => !volume.endsWith(":ro"))).toEqual([]);
});

test.each(FILES)("%s publishes the page to this machine alone, and gives the daemon time to end", (file) => {
  const { groupsync } = servicesOf(file);
  expect(groupsync.ports).toEqual([`127.0.0.1:${image.port}:${image.port}`]);
  const { shutdown_timeout: timeout } = loadDeployed(secretsAt("/run/secrets/groupsync"));
  expect(Number.parseInt(groupsync.stop_grace_period, 10) * 1000).toBeGreaterThan(timeout);
});

test("production.yaml mounts the folders that the config reads, and restarts the daemon", () => {
  const { groupsync } = servicesOf("compose/production.yaml");
  const [config, secrets = ""] = groupsync.volumes.map((volume: string) => volume.split(":")[1]);
  expect(`${config}/config.yaml`).toBe(image.config);
  expect(() => loadDeployed(secretsAt(secrets))).not.toThrow();
  expect(groupsync.restart).toBe("unless-stopped");
});

test("the commands in the docs put the files where production.yaml mounts them", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "config.yaml"), "name: mine\n");
  mkdirSync(join(folder, "secrets"));
  mkdirSync(join(folder, "groupsync"));
  symlinkSync(fileURLToPath(new URL("../../deploy", import.meta.url)), join(folder, "groupsync/deploy"));
  // Only root may give files away, and here is no engine for containers.
  for (const name of ["chown", "docker"])
    writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*"\n`, { mode: 0o755 });
  const [files = "", commands = ""] = blocksIn(sectionText("docs/deploy.md", "Docker Compose"), "sh");
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const sh = (text: string) => promisify(execFile)("sh", ["-ec", text], { cwd: folder, env });

  expect((await sh(files)).stdout).toBe(`chown -R ${image.user.split(":")[0]} secrets\n`);
  expect(readFileSync(join(folder, "config/config.yaml"), "utf8")).toBe("name: mine\n");
  const { volumes } = parse(readFileSync(join(folder, "compose.yaml"), "utf8")).services.groupsync;
  for (const volume of volumes) expect(existsSync(join(folder, volume.split(":")[0]))).toBe(true);
  expect((await sh(commands)).stdout.split("\n")).toEqual([
    ...["check", "probe --yes", "plan", "sync"].map(
      (words) => `docker compose run --rm --no-deps groupsync ${words}`,
    ),
    "docker compose up --detach",
    "docker compose exec groupsync groupsync status",
    "",
  ]);
});

describe.skipIf(compose === null)("Docker Compose", () => {
  test.each(FILES)("takes %s as it is", async (file) => {
    const path = fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url));
    const { code, output } = await compose!(["-f", path, "config", "--format", "json"], {
      cwd: dirname(path),
    });
    expect(code, output).toBe(0);
    expect(Object.keys(JSON.parse(output).services).sort()).toEqual(Object.keys(servicesOf(file)).sort());
  });
});
