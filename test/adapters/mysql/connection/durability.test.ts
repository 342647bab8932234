import { expect, test } from "vitest";
import { durabilityRisks, serverIdentity } from "../../../../src/adapters/mysql/connection/durability.ts";

const FLUSH = "innodb_flush_log_at_trx_commit";

/** Some servers return their settings as text. */
test.each([
  [{ flush: 1, sync: 1, isLogged: 1 }, []],
  [{ flush: "1", sync: "0", isLogged: "0" }, []],
  [{ flush: 0, sync: 1, isLogged: 1 }, [`${FLUSH} = 0`]],
  [{ flush: "2", sync: "1", isLogged: "1" }, [`${FLUSH} = 2`]],
  [{ flush: 1, sync: 0, isLogged: 1 }, ["sync_binlog = 0"]],
  [{ flush: 2, sync: 100, isLogged: 1 }, [`${FLUSH} = 2`, "sync_binlog = 100"]],
])("of %o, a crash takes commits back by %o", async (settings, risky) => {
  const query = async <Row>(): Promise<Row[]> => [settings as Row];
  const risks = await durabilityRisks({ query });
  expect(risks.map(({ setting }) => setting)).toEqual(risky);
});

const MARIADB = { server_uid: "a hash of network card and port", server_id: "1" };
const GALERA = { ...MARIADB, wsrep_cluster_state_uuid: "the cluster" };
const MYSQL = { server_uuid: "the server", server_id: "1" };
const GROUP = { ...MYSQL, group_replication_group_name: "the group" };

type Server = Readonly<Record<string, string>>;

test.each<[what: string, one: Server, other: Server, isSame: boolean]>([
  ["an older MariaDB and its replica", { server_id: "1" }, { server_id: "2" }, false],
  ["a MariaDB and its replica in containers", MARIADB, { ...MARIADB, server_id: "2" }, false],
  ["a MariaDB without a cluster", { ...MARIADB, wsrep_cluster_state_uuid: "" }, MARIADB, true],
  ["two nodes of Galera", GALERA, { ...GALERA, server_uid: "another", server_id: "2" }, true],
  ["two clusters", GALERA, { ...GALERA, wsrep_cluster_state_uuid: "another" }, false],
  ["a MySQL and its replica", MYSQL, { server_uuid: "another", server_id: "2" }, false],
  ["two members of a group", GROUP, { ...GROUP, server_uuid: "another", server_id: "2" }, true],
])("servers are told apart if one may lack the other's commits: %s", async (_, one, other, isSame) => {
  const identityOf = (server: Server): Promise<string> => {
    const query = async <Row>(): Promise<Row[]> =>
      Object.entries(server).map(([Variable_name, Value]) => ({ Variable_name, Value }) as Row);
    const open = { query, isLastAttempt: false };
    // Outside of a transaction that may write, a balancer may ask any of them.
    return serverIdentity({ transaction: (_, body) => body(open, []) });
  };
  expect((await identityOf(one)) === (await identityOf(other))).toBe(isSame);
});
