import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/** Stands between the program and the service, and notes when each answer to POST has gone out. */
export interface AnswerTimes {
  /** The service's address, by way of this one. */
  readonly baseUrl: string;
  /** By user_group_id, in milliseconds of `performance.now()`. */
  readonly answered: ReadonlyMap<string, number>;
  close(): void;
}

/** `baseUrl` is plain HTTP; each answer comes in one piece, as the sandbox sends it. */
export async function answerTimes(baseUrl: string): Promise<AnswerTimes> {
  const { hostname, port } = new URL(baseUrl);
  const answered = new Map<string, number>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    let isPost = false;
    client.on("data", (request) => {
      // A body may come in a piece of its own.
      const [, method] = /^(GET|POST|DELETE) /.exec(request.toString("latin1", 0, 8)) ?? [];
      if (method !== undefined) isPost = method === "POST";
      upstream.write(request);
    });
    upstream.on("data", (answer) => {
      const [, id] = /"provided_id":"([^"]+)"/.exec(answer.toString()) ?? [];
      client.write(answer, () => {
        if (isPost && id !== undefined) answered.set(id, performance.now());
      });
    });
    client.on("error", () => {}).once("close", () => upstream.destroy());
    upstream.on("error", () => {}).once("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered,
    close: () => void server.close(),
  };
}
