import { randomBytes } from "node:crypto";
import { Secret } from "../../core/secret/secret.ts";
import type { Exchange, SendOptions, ServiceConnection } from "./service-connection.ts";

type Sending = Pick<SendOptions, "beforeSend">;

/** As long as a real token, and no group's. */
const random = (): Secret => new Secret(`groupsync-check-${randomBytes(32).toString("base64url")}`);

/** A GET with a body that names no group, and a key that is wrong on purpose: with a good key it could create a group. */
export const getWithWrongKey = (connection: ServiceConnection, options: Sending = {}): Promise<Exchange> =>
  // Without an id, because something in between might put a good key in place of the wrong one.
  connection.send("GET", "", { check: "groupsync" }, { ...options, apiKey: random() });

/** A POST with the real key and a random token, which no group has. */
export function rotateNobody(connection: ServiceConnection, options: Sending = {}): Promise<Exchange> {
  const token = random();
  const fields = { current_token: token.reveal() };
  return connection.send("POST", "", fields, { ...options, secrets: [token] });
}
