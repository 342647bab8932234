import { afterAll, test } from "vitest";
import { startPostgres } from "../support/postgres/embedded-postgres.ts";
import type { EmbeddedServer } from "../support/servers/embedded-server.ts";
import { smoke } from "./installations.ts";
import { CHEAP, liveOn } from "./life.ts";

let starting: Promise<EmbeddedServer> | undefined;
afterAll(async () => (await starting?.catch(() => undefined))?.stop());

const shared = (): Promise<EmbeddedServer> => {
  starting ??= startPostgres();
  return starting;
};

test.for(smoke(shared).map((installation) => [installation.name, installation] as const))(
  "a short life on %s",
  async ([, installation], context) => {
    await liveOn(installation, context, CHEAP);
  },
);
