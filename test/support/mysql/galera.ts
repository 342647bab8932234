import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unpackedPackage } from "../servers/debian-packages.ts";
import { type EmbeddedServer, freePort } from "../servers/embedded-server.ts";
import { startMariadb } from "./embedded-mariadb.ts";

/** A cluster of two MariaDBs. */
export interface Galera {
  /** The superuser's url of each node, password included. The urls name no database. */
  readonly urls: readonly [string, string];
  stop(): Promise<void>;
}

const PROVIDER = "usr/lib/galera/libgalera_smm.so";
/** Has `wsrep_sst_copy`, which gives a node the data of another one. */
const SCRIPTS = fileURLToPath(new URL("galera", import.meta.url));

/** Starts two MariaDBs of their own with Debian's Galera, as `startMariadb` does. */
export async function startGalera(): Promise<Galera> {
  const first = await startNode();
  try {
    const second = await startNode(first);
    return {
      urls: [first.url, second.url],
      stop: async () => {
        await Promise.all([first.stop(), second.stop()]);
      },
    };
  } catch (error) {
    await first.stop();
    throw error;
  }
}

interface Node extends EmbeddedServer {
  /** Where the nodes talk to each other. */
  readonly address: string;
}

/** `other`: left out for the first node. */
async function startNode(other?: Node): Promise<Node> {
  const { root, env } = await unpackedPackage("galera-4");
  const address = `127.0.0.1:${await freePort()}`;
  const server = await startMariadb({
    ...(other && { password: new URL(other.url).password }),
    env: { ...env, PATH: `${SCRIPTS}:${process.env.PATH}` },
    settings: {
      wsrep_on: "ON",
      wsrep_provider: join(root, PROVIDER),
      wsrep_provider_options: `ist.recv_addr=127.0.0.1:${await freePort()}; gcache.size=16M`,
      wsrep_cluster_address: `gcomm://${other?.address ?? ""}`,
      wsrep_node_address: address,
      wsrep_sst_method: "copy",
      wsrep_data_home_dir: "..",
      wsrep_slave_threads: "2",
      binlog_format: "ROW",
      innodb_autoinc_lock_mode: "2",
    },
    readyWhen: "Synchronized with group, ready for connections",
  });
  return { ...server, address };
}
