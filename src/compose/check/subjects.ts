import type { Opened } from "../../commands/command-io.ts";
import type { DatabaseUrl } from "../../config/model/config.ts";
import { describeDatabase } from "../../config/model/database-description.ts";
import type { Finding } from "../../core/report/finding.ts";
import { connectionPrivacy } from "../../core/tls/database-tls.ts";
import type { CheckedDatabase } from "../../engine/check/connection.ts";
import type { Check } from "../../ports/check.ts";
import type { Host } from "../host.ts";

export const check = (name: string, find: Check["find"]): Check => ({ name, find });

/** A check of what `open` opens. Closes it at the end. */
export const whileOpen = <T>(
  name: string,
  host: Host,
  open: (host: Host) => Promise<Opened<T>>,
  find: (value: T, stop: AbortSignal) => AsyncIterable<Finding>,
): Check =>
  check(name, async function* (stop) {
    const { value, close } = await open({ ...host, stop });
    try {
      yield* find(value, stop);
    } finally {
      await close();
    }
  });

export const checkedDatabase = (at: DatabaseUrl): CheckedDatabase => ({
  title: describeDatabase(at),
  privacy: connectionPrivacy(at.dialect, at.url.reveal()),
});
