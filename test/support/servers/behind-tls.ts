import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { createServer } from "node:tls";
import type { Certificate } from "./certificates.ts";

interface TlsServer {
  /** Such as `https://127.0.0.1:8443`. */
  readonly baseUrl: string;
  close(): void;
}

/** A TLS server in front of a server without TLS on this machine, as a load balancer is. */
export async function behindTls(plainUrl: string, certificate: Certificate): Promise<TlsServer> {
  const server = createServer(certificate, (socket) => {
    const plain = connect(Number(new URL(plainUrl).port), "127.0.0.1");
    plain.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("error", () => plain.destroy()).on("close", () => plain.destroy());
    socket.pipe(plain).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `https://127.0.0.1:${port}`, close: () => server.close() };
}
