import { type Finding, ok, warning } from "../../core/report/finding.ts";
import type { ConnectionPrivacy } from "../../core/tls/database-tls.ts";

/** A database as `check` speaks of it. */
export interface CheckedDatabase {
  /** Host, port and database. */
  readonly title: string;
  readonly privacy: ConnectionPrivacy;
}

const HINT = "see docs/security.md#tls";

/** The finding for a connection that has worked. */
export function connectionFinding({ title, privacy }: CheckedDatabase): Finding {
  switch (privacy) {
    case "verified":
      return ok(`connected to ${title} by TLS; the server's certificate is the right one`);
    case "local":
      return ok(`connected to ${title}, on this machine`);
    case "unverified":
      return warning(
        `connected to ${title} by TLS, but the url has no certificate verified: anybody in between could pose as the server`,
        HINT,
      );
    case "clear":
      return warning(
        `connected to ${title} without TLS: everything, the password included, is sent in clear`,
        HINT,
      );
    default:
      return privacy satisfies never;
  }
}
