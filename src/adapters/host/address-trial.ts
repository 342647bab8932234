import { once } from "node:events";
import { get } from "node:http";
import { createServer } from "node:net";
import { describe } from "../../core/failure/sync-error.ts";
import type { AddressTrial, AddressUse } from "../../ports/check.ts";

/** How long the present listener may take to answer, in milliseconds. */
const LIMIT = 2_000;
/** Far more than what stands before the name on the status page. */
const LONGEST_PAGE = 256 * 1024;
/** The header of the daemon's status page: daemon/status-page/document.ts. */
const STATUS_PAGE = /<p class="product">groupsync<\/p><p>([^<]*)<\/p>/;

export const addressTrial: AddressTrial = {
  async use(host, port) {
    const server = createServer();
    try {
      server.listen(port, host);
      await once(server, "listening");
      return { kind: "free" };
    } catch (error) {
      return (await groupsyncAt(host, port)) ?? { kind: "refused", reason: describe(error) };
    } finally {
      if (server.listening) await new Promise((closed) => server.close(closed));
    }
  },
};

/** Undefined if no daemon of groupsync answers there. */
async function groupsyncAt(host: string, port: number): Promise<AddressUse | undefined> {
  try {
    const name = STATUS_PAGE.exec(await pageAt(reachable(host), port))?.[1];
    return name === undefined ? undefined : { kind: "groupsync", name };
  } catch {
    return undefined;
  }
}

async function pageAt(host: string, port: number): Promise<string> {
  const request = get({ host, port, path: "/", signal: AbortSignal.timeout(LIMIT), agent: false });
  const [response] = await once(request, "response");
  let page = "";
  for await (const chunk of response.setEncoding("utf8")) {
    page += chunk;
    if (page.length > LONGEST_PAGE) break;
  }
  return page;
}

/** A client can't connect to an address that stands for all of them. */
const reachable = (host: string): string => (host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host);
