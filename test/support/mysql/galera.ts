import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { unpackedPackage } from "../servers/debian-packages.ts";
import { type EmbeddedServer, freePort, type ServerOptions } from "../servers/embedded-server.ts";
import { startMariadb } from "./embedded-mariadb.ts";

/** A cluster of two MariaDBs. */
export interface Galera {
  /** The superuser's url of each node, password included. They differ by the host alone, and name no database. */
  readonly urls: readonly [string, string];
  /** Of Debian's package, in its version. */
  readonly version: string;
  stop(): Promise<void>;
}

/** Both are this machine. */
const HOSTS = ["127.0.0.1", "127.0.0.2"] as const;

/**
 * Starts two MariaDBs of their own with Debian's Galera, as `startMariadb` does. Both begin with the same new data, and the
 * second one says that it knows the cluster's first event: so no data has to be transferred.
 */
export async function startGalera(): Promise<Galera> {
  const { root, env } = await unpackedPackage("galera-4");
  const password = randomBytes(16).toString("hex");
  const lines = [await freePort(), await freePort()] as const;
  const start = (
    node: 0 | 1,
    cluster: string,
    settings: ServerOptions["settings"] = {},
  ): Promise<EmbeddedServer> =>
    startMariadb({
      password,
      env,
      files: { "grastate.dat": historyUntil(node) },
      settings: {
        wsrep_on: "ON",
        wsrep_provider: join(root, "usr/lib/galera/libgalera_smm.so"),
        wsrep_provider_options: `gmcast.listen_addr=tcp://127.0.0.1:${lines[node]}; gcache.size=16M`,
        wsrep_cluster_address: `gcomm://${cluster}`,
        wsrep_node_address: "127.0.0.1",
        wsrep_data_home_dir: "..",
        wsrep_sst_method: "skip",
        wsrep_slave_threads: "2",
        binlog_format: "ROW",
        innodb_autoinc_lock_mode: "2",
        ...settings,
      },
      readyWhen: "Synchronized with group, ready for connections",
    });
  const first = await start(0, "");
  try {
    const second = await start(1, `127.0.0.1:${lines[0]}`, {
      bind_address: HOSTS[1],
      port: String(first.port),
    });
    const [one, other] = HOSTS.map((hostname) => Object.assign(new URL(first.url), { hostname }).href);
    return {
      urls: [one ?? "", other ?? ""],
      version: /(?<=Galera )[\d.]+/.exec(first.log.join("\n"))?.[0] ?? "",
      stop: async () => {
        await Promise.all([first.stop(), second.stop()]);
      },
    };
  } catch (error) {
    await first.stop();
    throw error;
  }
}

/** What a node knows of the cluster's history. */
const historyUntil = (event: number): string =>
  [
    "# GALERA saved state",
    "version: 2.1",
    "uuid: 01234567-89ab-cdef-0123-456789abcdef",
    `seqno: ${event}`,
    "safe_to_bootstrap: 1",
    "",
  ].join("\n");
