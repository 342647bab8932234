import { Socket } from "node:net";
import type { Connection } from "mysql2";
import { inTime } from "../sql/in-time.ts";

/** How long the server may take to hear a farewell, in milliseconds. */
const FAREWELL = 5_000;

/** Ends the connection at once. The driver would close its own half, and go on receiving all the rest. */
export function cutOff(connection: Connection): void {
  connection.destroy();
  if ("stream" in connection && connection.stream instanceof Socket) connection.stream.destroy();
}

/** Says farewell, or else the server takes it for an accident; not for long, for it may be gone. Never rejects. */
export async function endInTime(ended: Promise<void>, connections: Iterable<Connection>): Promise<void> {
  await inTime(FAREWELL, ended).catch(() => {});
  for (const connection of connections) cutOff(connection);
}
