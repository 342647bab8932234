import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { ServiceFailure } from "../../core/failure/service-failure.ts";
import { describe } from "../../core/failure/sync-error.ts";
import type { ReachedService } from "../../ports/group-service.ts";
import type { HttpServiceOptions } from "./http-group-service.ts";

/**
 * Looks the host up, connects, and shakes hands, each no longer than a request may take. Sends no request. Rejects with
 * UNREACHABLE.
 */
export async function reachService({
  baseUrl,
  timeoutMs,
}: Pick<HttpServiceOptions, "baseUrl" | "timeoutMs">): Promise<ReachedService> {
  const { protocol, hostname, port } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, "");
  const isSecure = protocol === "https:";
  const at = { host, port: Number(port) || (isSecure ? 443 : 80) };
  const shown = `${hostname}:${at.port}`;
  await step(lookup(host), `the name ${host} can't be looked up`, LOOK_UP);
  const socket = connectPlain(at).on("error", ignore);
  try {
    await step(within(timeoutMs, socket, "connect"), `cannot connect to ${shown}`, CONNECT);
    if (!isSecure) return { at: shown, tls: null };
    const secured = connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }) }).on(
      "error",
      ignore,
    );
    const shaken = within(timeoutMs, secured, "secureConnect");
    await step(shaken, `the TLS handshake with ${shown} failed`, HANDSHAKE);
    return { at: shown, tls: tlsOf(secured) };
  } finally {
    socket.destroy();
  }
}

/** Whoever waits for an event gets the error of the socket, too. */
function ignore(): void {}

const LOOK_UP = "check the host in service.base_url, and the name server of this machine";
const CONNECT =
  "check the port in service.base_url; a firewall or a network policy may keep this machine from the service";
const HANDSHAKE =
  "the certificate has to be valid for the host in service.base_url; for a CA of your own, name the file of its certificate in NODE_EXTRA_CA_CERTS";

async function step(work: Promise<unknown>, what: string, hint: string): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new ServiceFailure("UNREACHABLE", `${what}: ${describe(error)}`, { hint, cause: error });
  }
}

const within = (ms: number, socket: Socket, event: string): Promise<unknown> =>
  once(socket, event, { signal: AbortSignal.timeout(ms) }).catch((error: unknown) => {
    const isLate = error instanceof Error && error.name === "AbortError";
    throw isLate ? new Error(`no answer within ${ms} ms`) : error;
  });

const tlsOf = (socket: TLSSocket): NonNullable<ReachedService["tls"]> => ({
  protocol: socket.getProtocol() ?? "TLS",
  validUntil: new Date(socket.getPeerCertificate().valid_to),
});
