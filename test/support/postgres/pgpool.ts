import { join } from "node:path";
import { unpackedPackage } from "../servers/debian-packages.ts";
import {
  type EmbeddedServer,
  freePort,
  onFreePort,
  serverFolder,
  startSupervised,
} from "../servers/embedded-server.ts";
import { unprivileged } from "../servers/unprivileged.ts";

export interface PgpoolOptions {
  readonly loadBalancing: boolean;
  /** The urls of standbys, beside the primary. */
  readonly standbys?: readonly string[];
}

/**
 * Starts Debian's pgpool2 in front of a primary, whose superuser's url this is, and of its standbys. It asks clients for
 * their passwords in clear, because it has to log in with them itself.
 */
export async function startPgpool(
  primaryUrl: string,
  { loadBalancing, standbys = [] }: PgpoolOptions,
): Promise<EmbeddedServer> {
  const { root, env } = await unpackedPackage("pgpool2");
  const { username, password } = new URL(primaryUrl);
  return onFreePort("Address already in use", async (port) => {
    const settings = (path: string): Record<string, string> => ({
      listen_addresses: "127.0.0.1",
      port: String(port),
      socket_dir: path,
      pcp_socket_dir: path,
      pcp_listen_addresses: "127.0.0.1",
      pcp_port: String(pcpPort),
      pid_file_name: join(path, "pgpool.pid"),
      logdir: path,
      work_dir: path,
      backend_clustering_mode: "streaming_replication",
      enable_pool_hba: "off",
      pool_passwd: "",
      allow_clear_text_frontend_auth: "on",
      load_balance_mode: loadBalancing ? "on" : "off",
      sr_check_user: username,
      sr_check_password: password,
      num_init_children: "16",
      ...Object.fromEntries([primaryUrl, ...standbys].flatMap((url, n) => backend(new URL(url), n))),
    });
    const pcpPort = await freePort();
    const folder = serverFolder("pgpool", {}, (path) => ({
      "pgpool.conf": Object.entries(settings(path))
        .map(([name, value]) => `${name} = '${value}'\n`)
        .join(""),
    }));
    const { programs, prefix } = unprivileged(folder, root);
    const started = await startSupervised({
      name: "pgpool",
      folder,
      command: [...prefix, join(programs, "usr/sbin/pgpool"), "-n", "-f", join(folder, "pgpool.conf")],
      env,
      readyWhen: "successfully started",
    });
    return { url: Object.assign(new URL(primaryUrl), { port: String(port) }).href, port, ...started };
  });
}

const backend = ({ hostname, port }: URL, number: number): readonly (readonly [string, string])[] => [
  [`backend_hostname${number}`, hostname],
  [`backend_port${number}`, port],
  [`backend_weight${number}`, "1"],
  [`backend_flag${number}`, "ALLOW_TO_FAILOVER"],
];
