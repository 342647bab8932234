import { randomBytes } from "node:crypto";
import { Secret } from "../../core/secret/secret.ts";
import type { Exchange, ServiceConnection } from "./service-connection.ts";

/** A GET with a body that names no group, and a key that is wrong on purpose: with a good key it could create a group. */
export function getWithWrongKey(connection: ServiceConnection, beforeSend?: () => void): Promise<Exchange> {
  // Without an id, because something in between might put a good key in place of the wrong one.
  return connection.send("GET", "", { check: "groupsync" }, { beforeSend, apiKey: random() });
}

/** A POST with the real key and a random token, which no group has. */
export function rotateNobody(connection: ServiceConnection, beforeSend?: () => void): Promise<Exchange> {
  const token = random();
  return connection.send("POST", "", { current_token: token.reveal() }, { beforeSend, secrets: [token] });
}

/** As long as a real token, and no group's. */
const random = (): Secret => new Secret(`groupsync-check-${randomBytes(32).toString("base64url")}`);
