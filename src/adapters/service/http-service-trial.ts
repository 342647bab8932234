import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { ServiceFailure } from "../../core/failure/service-failure.ts";
import { describe } from "../../core/failure/sync-error.ts";
import type { Reached, ServiceTrial, TrialAnswer } from "../../ports/check.ts";
import { answerText, isHtml, jsonObject, successfulBody } from "./answer.ts";
import { getWithWrongKey, rotateNobody } from "./neutral-requests.ts";
import { type Exchange, type HttpServiceOptions, ServiceConnection } from "./service-connection.ts";

export class HttpServiceTrial implements ServiceTrial {
  readonly #options: HttpServiceOptions;
  readonly #connection: ServiceConnection;

  constructor(options: HttpServiceOptions) {
    this.#options = options;
    this.#connection = new ServiceConnection(options);
  }

  async reach(): Promise<Reached> {
    const { protocol, hostname, port } = new URL(this.#options.baseUrl);
    const host = hostname.replace(/^\[|\]$/g, "");
    const isSecure = protocol === "https:";
    const at = { host, port: Number(port) || (isSecure ? 443 : 80) };
    const shown = `${hostname}:${at.port}`;
    await step(lookup(host), `the name ${host} can't be looked up`, LOOK_UP);
    const socket = connectPlain(at).on("error", ignore);
    try {
      await step(this.#ready(socket, "connect"), `cannot connect to ${shown}`, CONNECT);
      if (!isSecure) return { at: shown, tls: null };
      const secured = connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }) }).on(
        "error",
        ignore,
      );
      await step(this.#ready(secured, "secureConnect"), `the TLS handshake with ${shown} failed`, HANDSHAKE);
      return { at: shown, tls: tlsOf(secured) };
    } finally {
      socket.destroy();
    }
  }

  async getWithWrongKey(): Promise<TrialAnswer> {
    return answerOf(await getWithWrongKey(this.#connection));
  }

  async rotateNobody(): Promise<TrialAnswer> {
    return answerOf(await rotateNobody(this.#connection));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Waits for the event no longer than for a request. */
  #ready(socket: Socket, event: string): Promise<unknown> {
    const { timeoutMs } = this.#options;
    return once(socket, event, { signal: AbortSignal.timeout(timeoutMs) }).catch((error: unknown) => {
      const isLate = error instanceof Error && error.name === "AbortError";
      throw isLate ? new Error(`no answer within ${timeoutMs} ms`) : error;
    });
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

const tlsOf = (socket: TLSSocket): NonNullable<Reached["tls"]> => ({
  protocol: socket.getProtocol() ?? "TLS",
  validUntil: new Date(socket.getPeerCertificate().valid_to),
});

function answerOf({ answer, request }: Exchange): TrialAnswer {
  const content = isHtml(answer) ? "html" : jsonObject(answer) ? "json" : "other";
  const shown = (text: string): string => text.replace(/^\w+ was answered /, "");
  try {
    successfulBody(answer, request);
    return { status: answer.status, content, code: null, text: shown(answerText(answer, request)) };
  } catch (error) {
    if (!(error instanceof ServiceFailure)) throw error;
    return { status: answer.status, content, code: error.code, text: shown(error.message) };
  }
}
