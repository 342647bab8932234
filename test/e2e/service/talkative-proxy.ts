import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Pool } from "undici";
import { onTestFinished } from "vitest";
import { writtenForms } from "../../support/databases/written-forms.ts";
import { listening } from "../../support/servers/listening.ts";

/** An answer as the proxy changes it, with secrets wherever they fit. */
const SPOILS = [
  "500",
  "503",
  "404",
  "422",
  "200 with success 0",
  "200 with another group",
  "200 without fields",
  "text",
  "redirect",
  "no HTTP",
  "cut off",
] as const;
type Spoil = (typeof SPOILS)[number] | "401" | "HTML 403";

export interface TalkativeProxy {
  readonly url: string;
  /** Every key and token that the proxy has seen in a request or in an answer. */
  readonly secrets: ReadonlySet<string>;
  /** Spoils this share of the answers, in one way after the other; if a way is given, in that way only. */
  spoil(share: number, how?: Spoil): void;
}

/**
 * A proxy between the program and a service. The service has done its work, whatever the proxy makes of the answer.
 * Only a 401 comes from the proxy alone, because no service works for a key that it refuses.
 */
export async function talkativeProxy(service: () => string): Promise<TalkativeProxy> {
  const secrets = new Set<string>();
  let spoiled: { share: number; how: Spoil | undefined } = { share: 0, how: undefined };
  let turn = 0;
  const pools = new Map<string, Pool>();
  onTestFinished(async () => void (await Promise.all([...pools.values()].map((pool) => pool.destroy()))));

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let sent = "";
    for await (const chunk of request) sent += chunk;
    const { authorization = "", "content-type": contentType = "" } = request.headers;
    secrets.add(authorization.replace("Token ", ""));
    const isSpoiled = ++turn % 100 < spoiled.share * 100;
    const how = spoiled.how ?? SPOILS[turn % SPOILS.length] ?? "500";
    if (isSpoiled && how === "401") return spoilAnswer(how, "{}", [authorization, ...secrets], response);
    const pool = pools.get(service()) ?? new Pool(service());
    pools.set(service(), pool);
    const { statusCode, body } = await pool.request({
      method: request.method as "GET",
      path: request.url ?? "",
      headers: { authorization, "content-type": contentType },
      body: sent,
      reset: false,
    });
    const received = await body.text();
    for (const [, token = ""] of `${sent}${received}`.matchAll(/"(?:current_)?token":"([^"]+)"/g))
      secrets.add(token);

    if (!isSpoiled)
      return void response.writeHead(statusCode, { "content-type": "application/json" }).end(received);
    spoilAnswer(how, received, [...secrets].slice(-50).concat(authorization), response);
  };
  const { port } = await listening(
    createServer((request, response) => {
      answer(request, response).catch(() => request.socket.destroy());
    }),
  );
  return {
    url: `http://127.0.0.1:${port}`,
    secrets,
    spoil(share, how) {
      spoiled = { share, how };
    },
  };
}

function spoilAnswer(
  how: Spoil,
  received: string,
  secrets: readonly string[],
  response: ServerResponse,
): void {
  const forms = secrets.flatMap(writtenForms);
  const words = `what is ${forms.join(" or ")}?`;
  // The last ones first: words are cut somewhere.
  const told = { message: forms.toReversed().join("', '"), error: words, detail: words, reason: words };
  const json = (status: number, body: object): ServerResponse =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  switch (how) {
    case "401":
    case "404":
    case "422":
    case "500":
    case "503":
      json(Number(how), { success: 0, ...told });
      return;
    case "200 with success 0":
      json(200, { ...told, success: 0 });
      return;
    case "200 with another group":
      json(200, {
        ...told,
        success: 1,
        new_user_group: true,
        user_group: { team_id: 1, token: "another", name: words, provided_id: words },
      });
      return;
    case "200 without fields":
      json(200, { ...JSON.parse(received), user_group: { ...told }, success: words });
      return;
    case "text":
      response.end(words);
      return;
    case "HTML 403":
      response.writeHead(403, { "content-type": "text/html" }).end(`<html>${words}</html>`);
      return;
    case "redirect":
      response.writeHead(302, { location: `https://sso.test/?${forms.join("&")}` }).end();
      return;
    case "no HTTP":
      response.socket?.end(`220 ${words}\r\n`);
      return;
    case "cut off":
      response.writeHead(200, { "content-length": 100_000 }).write(words);
      response.socket?.end();
      return;
  }
}
