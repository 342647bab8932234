import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { HttpServiceTrial } from "../../../src/adapters/service/http-service-trial.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { rejection } from "../../contracts/collect.ts";
import { aSandbox } from "../../sandbox/client.ts";
import { aSelfSignedCertificate } from "../../support/servers/certificates.ts";
import { listening } from "../../support/servers/listening.ts";

const KEY = "the-real-api-key";

function aTrial(baseUrl: string, apiKey = KEY, timeoutMs = 30_000): HttpServiceTrial {
  const trial = new HttpServiceTrial({ baseUrl, apiKey: new Secret(apiKey), timeoutMs, concurrency: 1 });
  onTestFinished(() => trial.close());
  return trial;
}

interface Seen {
  readonly method: string | undefined;
  readonly key: string | undefined;
  readonly body: string;
}

/** A server that answers thus, and what it has seen. */
async function aServer(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method, key: request.headers.authorization, body });
    answer(request, response);
  });
  const { port } = await listening(server);
  return { seen, trial: aTrial(`http://127.0.0.1:${port}`) };
}

describe("against the sandbox", () => {
  const trialOf = async (options: SandboxOptions, key?: string) => {
    const { baseUrl, apiKey, client } = await aSandbox(options);
    const trial = aTrial(baseUrl, key ?? apiKey);
    const found = { get: await trial.getWithWrongKey(), post: await trial.rotateNobody() };
    expect(((await client.page("/sandbox/groups")).json as { groups: unknown[] }).groups).toEqual([]);
    return found;
  };

  test("a good key is told from a wrong one, by status or by body", async () => {
    expect(await trialOf({})).toMatchObject({
      get: { code: "KEY_REFUSED", status: 401, content: "json" },
      post: { code: "REFUSED" },
    });
    const { get, post } = await trialOf({ errors: "body" });
    expect([get.code, post.code]).toEqual(["REFUSED", "REFUSED"]);
    expect(get.text).not.toBe(post.text);
  });

  test("a revoked key is answered as a wrong one", async () => {
    const { get, post } = await trialOf({}, "revoked");
    expect(post).toEqual(get);
    expect(post.code).toBe("KEY_REFUSED");
  });
});

describe("what is sent", () => {
  test("is one GET with a body that names no group and a wrong key, and one POST with the real key", async () => {
    const { seen, trial } = await aServer((_, response) => response.writeHead(400).end('{"success":0}'));
    await trial.getWithWrongKey();
    await trial.rotateNobody();
    const [get, post] = seen;
    expect(seen).toHaveLength(2);
    expect(get).toMatchObject({ method: "GET", body: '{"check":"groupsync"}' });
    expect(get?.key).toMatch(/^Token groupsync-check-[\w-]{43}$/);
    expect(post).toMatchObject({ method: "POST", key: `Token ${KEY}` });
    expect(JSON.parse(post?.body ?? "")).toEqual({
      current_token: expect.stringMatching(/^groupsync-check-/),
    });
  });

  test("to look around is nothing", async () => {
    const { seen, trial } = await aServer((_, response) => response.end());
    expect(await trial.reach()).toMatchObject({ tls: null });
    expect(seen).toEqual([]);
  });
});

describe("a hostile answer", () => {
  test.each<[string, number, Record<string, string>, string, object]>([
    [
      "HTML",
      200,
      { "content-type": "text/html" },
      "<html>login</html>",
      { code: "BAD_RESPONSE", content: "html" },
    ],
    [
      "the key in its words",
      401,
      {},
      `{"success":0,"message":"no such key ${KEY}"}`,
      { code: "KEY_REFUSED" },
    ],
  ])("%s is told apart", async (_, status, headers, body, expected) => {
    const { trial } = await aServer((__, response) => response.writeHead(status, headers).end(body));
    const found = [await trial.getWithWrongKey(), await trial.rotateNobody()];
    expect(found[0]).toMatchObject(expected);
    expect(JSON.stringify(found[1])).not.toContain(KEY);
  });

  test("silence ends with the time of a request", async () => {
    const { port } = await listening(createTcpServer(() => {}));
    const trial = aTrial(`http://127.0.0.1:${port}`, KEY, 200);
    expect(await rejection(trial.getWithWrongKey())).toMatchObject({ code: "TIMEOUT" });
    expect(await rejection(trial.rotateNobody())).toMatchObject({ code: "TIMEOUT" });
  });
});

describe("the way there", () => {
  const unreachable = (what: RegExp, hint: string) => ({
    code: "UNREACHABLE",
    message: expect.stringMatching(what),
    hint: expect.stringContaining(hint),
  });

  test("ends at a name that nobody knows", async () => {
    const error = await rejection(aTrial("https://nobody.invalid").reach());
    expect(error).toMatchObject(unreachable(/nobody\.invalid can't be looked up/, "name server"));
  });

  test("ends at a port where nobody listens", async () => {
    const error = await rejection(aTrial("http://127.0.0.1:1").reach());
    expect(error).toMatchObject(unreachable(/cannot connect to 127\.0\.0\.1:1/, "firewall"));
  });

  test("ends at a certificate that nobody vouches for, or at no TLS at all", async () => {
    const { baseUrl } = await aSandbox({ tls: await aSelfSignedCertificate() });
    const error = await rejection(aTrial(baseUrl).reach());
    expect(error).toMatchObject(unreachable(/TLS handshake with .* failed/, "NODE_EXTRA_CA_CERTS"));
    const plain = (await aSandbox()).baseUrl.replace("http:", "https:");
    expect(await rejection(aTrial(plain).reach())).toMatchObject(unreachable(/TLS handshake/, "certificate"));
  });

  test("ends at a handshake that nobody answers", async () => {
    const { port } = await listening(createTcpServer(() => {}));
    const error = await rejection(aTrial(`https://127.0.0.1:${port}`, KEY, 200).reach());
    expect(error).toMatchObject(unreachable(/no answer within 200 ms/, "certificate"));
  });
});
