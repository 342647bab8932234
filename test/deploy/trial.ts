import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { onTestFinished } from "vitest";
import { type Program, startProcess, startProgram } from "../e2e/program.ts";
import { until } from "../e2e/world.ts";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import { freePort } from "../support/servers/embedded-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { documentsIn, image, textOf } from "./files.ts";

const [{ services, secrets }] = documentsIn("compose/compose.yaml");
const FOLDER = "deploy/compose/";

/** Where the containers see each other, and what the same place is called here. */
type Places = readonly (readonly [there: string, here: string])[];

/** All of compose.yaml, without an engine for containers. It ends with the running test. */
export interface Trial {
  /** The database, for its superuser. */
  readonly shop: pg.Client;
  /** The address of the sandbox. */
  readonly service: string;
  readonly configFile: string;
  readonly daemon: Program;
  readonly application: Program;
  /** The address of the application, without a slash at the end. */
  readonly origin: string;
}

/** `changed` has variables of the application that are others than in compose.yaml. */
export async function startTrial(changed: Readonly<Record<string, string>> = {}): Promise<Trial> {
  const folder = temporaryFolder();
  const server = await startPostgres({ durable: true });
  onTestFinished(server.stop);
  const shop = await database(server.url);

  const sandbox = startProgram([...services.service.command, "--port", "0"]);
  const service = (await printed(sandbox, /base_url: (\S+)/)).replace("0.0.0.0", "127.0.0.1");
  const listen = `127.0.0.1:${await freePort()}`;
  const places: Places = [
    ["http://service:4180", service],
    [`http://groupsync:${image.port}`, `http://${listen}`],
    ["@database/", `@127.0.0.1:${server.port}/`],
    ["/run/secrets/", `${folder}/`],
  ];
  for (const name of services.groupsync.secrets) {
    writeFileSync(join(folder, name), elsewhere(textOf(join(FOLDER, secrets[name].file)), places));
  }
  const configFile = join(folder, "config.yaml");
  writeFileSync(configFile, elsewhere(textOf(`${FOLDER}trial/config.yaml`), places));
  const daemon = startProgram(["--config", configFile, "run"], { GROUPSYNC_HTTP_LISTEN: listen });

  const port = String(await freePort());
  const environment = Object.entries<string>(services.application.environment);
  const application = startProcess(
    process.execPath,
    [fileURLToPath(new URL("../../examples/application/server.js", import.meta.url))],
    {
      ...Object.fromEntries(environment.map(([name, value]) => [name, elsewhere(value, places)])),
      PORT: port,
      LISTEN_HOST: "127.0.0.1",
      ...changed,
    },
  );
  const origin = await printed(application, /The application: (\S+)\//);
  return { shop, service, configFile, daemon, application, origin };
}

const elsewhere = (text: string, places: Places): string =>
  places.reduce((changed, [there, here]) => changed.replaceAll(there, here), text);

/** The database as the image of PostgreSQL makes it at its first start, for its superuser. */
async function database(url: string): Promise<pg.Client> {
  const { POSTGRES_DB: name } = services.database.environment;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const client = new pg.Client({ connectionString: url.replace(/postgres$/, name) });
  await client.connect();
  onTestFinished(() => client.end());
  const scripts = (services.database.volumes as string[]).map((volume) => volume.split(":"));
  // The image runs them in the order of their names there.
  for (const [file = ""] of scripts.toSorted(([, a = ""], [, b = ""]) => (a < b ? -1 : 1)))
    await client.query(textOf(join(FOLDER, file)));
  return client;
}

/** Waits until the pattern is printed, and returns its first group. */
async function printed(program: Program, pattern: RegExp): Promise<string> {
  await until(() => pattern.test(program.output()) || program.child.exitCode !== null);
  const [, found] = pattern.exec(program.output()) ?? [];
  if (found === undefined) throw new Error(`the program ended too early:\n${program.output()}`);
  return found;
}
