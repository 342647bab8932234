import { SyncError } from "../../../core/failure/sync-error.ts";

/** The oldest versions that groupsync's statements are written for. */
const OLDEST = { PostgreSQL: [13, 0], MySQL: [8, 0], MariaDB: [10, 6] } as const;

/**
 * Throws DATABASE_TOO_OLD if the server at this host is older. `version` is what the server says of itself; a text
 * without a number passes, because only a server's own errors can tell more.
 */
export function insistOnVersion(product: keyof typeof OLDEST, version: string, host: string): void {
  const [, major, minor = "0"] = /^(\d+)(?:\.(\d+))?/.exec(version) ?? [];
  if (major === undefined) return;
  const [oldestMajor, oldestMinor] = OLDEST[product];
  if (Number(major) > oldestMajor) return;
  if (Number(major) === oldestMajor && Number(minor) >= oldestMinor) return;
  const needed = product === "PostgreSQL" ? oldestMajor : `${oldestMajor}.${oldestMinor}`;
  throw new SyncError(
    "DATABASE_TOO_OLD",
    `the server at ${host} is ${product} ${version}, and groupsync needs ${product} ${needed} or later`,
    { hint: "upgrade the server, or name another one in the url" },
  );
}
