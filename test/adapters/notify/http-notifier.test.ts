import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Session } from "node:inspector/promises";
import { createServer as createTcpServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { httpNotifier } from "../../../src/adapters/notify/http-notifier.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { LogEntry } from "../../../src/ports/log.ts";
import { aClock } from "../../fakes/set-clock.ts";
import { listening } from "../../support/servers/listening.ts";

/** What such an address has in place of a password. */
const KEY = "T0p5ecret";

interface Heard {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly type: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

type Reply = (response: ServerResponse) => void;

const status =
  (code: number, headers = {}): Reply =>
  (response) =>
    response.writeHead(code, headers).end("thanks");

const UNANSWERED = "notify.webhook was not reached: no answer within 5 s";

/** A receiver that answers in turn, the last one again and again. */
async function aReceiver(...replies: Reply[]) {
  const heard: Heard[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const { method, url, headers } = request;
    const { authorization, "content-type": type } = headers;
    heard.push({ method, url, type, authorization, body: await text(request) });
    (replies[heard.length - 1] ?? replies.at(-1) ?? status(200))(response);
  });
  const { port, close } = await listening(server);
  return { heard, url: `http://127.0.0.1:${port}/services/${KEY}?key=${KEY}`, close };
}

function aNotifier(url: string, onSleep: (stopping: AbortController) => void = () => {}) {
  const log: LogEntry[] = [];
  const slept: number[] = [];
  const stopping = new AbortController();
  const clock = {
    ...aClock(),
    sleep: async (ms: number) => {
      slept.push(ms);
      onSleep(stopping);
    },
  };
  const options = { webhook: new Secret(url), heartbeat: new Secret(url) };
  const notifier = httpNotifier(options, clock, (entry) => log.push(entry), stopping.signal);
  return { notifier, log, slept, stopping, clock };
}

describe("a webhook", () => {
  test("gets the message as Slack takes it", async () => {
    const { heard, url } = await aReceiver();
    const { notifier, log } = aNotifier(url);
    await notifier.tell('groupsync eu: failing\nsync failed: grüße\n"why"');
    expect(heard).toEqual([
      {
        method: "POST",
        url: `/services/${KEY}?key=${KEY}`,
        type: "application/json",
        body: '{"text":"groupsync eu: failing\\nsync failed: grüße\\n\\"why\\""}',
      },
    ]);
    expect(log).toEqual([]);
  });

  test("gets nothing that would be a mention, a link or unseen in the message", async () => {
    const { heard, url } = await aReceiver();
    await aNotifier(url).notifier.tell("<!channel> <https://evil.example|click> & &lt; a\u202eb");
    expect(heard.map(({ body }) => JSON.parse(body))).toEqual([
      { text: "&lt;!channel&gt; &lt;https://evil.example|click&gt; &amp; &amp;lt; a\\u202eb" },
    ]);
  });
});

test("a monitor is asked for its page", async () => {
  const { heard, url } = await aReceiver();
  await aNotifier(url).notifier.beat();
  expect(heard).toEqual([{ method: "GET", url: `/services/${KEY}?key=${KEY}`, type: undefined, body: "" }]);
});

test("an address may have a user and a password", async () => {
  const { heard, url } = await aReceiver();
  await aNotifier(url.replace("://", "://me:p%40ss@")).notifier.beat();
  const credentials = Buffer.from("me:p@ss").toString("base64");
  expect(heard).toMatchObject([{ method: "GET", authorization: `Basic ${credentials}` }]);
});

describe("a receiver", () => {
  test("that is away for a moment is asked again, after a while", async () => {
    const { heard, url } = await aReceiver(status(500), (response) => response.destroy(), status(204));
    const { notifier, log, slept } = aNotifier(url);
    await notifier.tell("hello");
    expect(heard).toHaveLength(3);
    expect(slept).toEqual([1_000, 4_000]);
    expect(log).toEqual([]);
  });

  test.each<[string, string, Reply]>([
    ["that refuses", "HTTP 403", status(403)],
    ["that sends elsewhere", "HTTP 302", status(302, { location: `http://evil.example/${KEY}` })],
    ["that hangs up", "other side closed", (response) => response.destroy()],
    [
      "that speaks something else",
      "Response does not match the HTTP/1.1 protocol",
      (response) => response.socket?.end(`${KEY} nonsense\r\n\r\n`),
    ],
  ])("%s is given up after three attempts, with one line that doesn't name it", async (_, problem, reply) => {
    const { heard, url } = await aReceiver(reply);
    const { notifier, log } = aNotifier(url);
    await notifier.tell("hello");
    expect(heard).toHaveLength(3);
    expect(log).toEqual([
      {
        level: "warn",
        code: "NOTIFY_FAILED",
        message: expect.stringContaining(`notify.webhook was not reached: ${problem}`),
        hint: "syncs go on all the same; check the address, and what is between here and there",
      },
    ]);
    expect(JSON.stringify(log)).not.toContain(KEY);
  });

  test.each([
    ["at its port", `http://127.0.0.1:1/services/${KEY}`],
    ["by an address with a password", `http://user:${KEY}@127.0.0.1:1/`],
    ["by an address whose password is not encoded", `http://user:%${KEY}@127.0.0.1:1/`],
    ["in a path that HTTP doesn't know", `http://127.0.0.1:1/%00/ü/${KEY}?${KEY}#${KEY}`],
  ])("that can't be had %s is not named either", async (_, url) => {
    const { notifier, log } = aNotifier(url);
    await notifier.tell("hello");
    expect(log).toHaveLength(1);
    expect(JSON.stringify(log)).not.toContain(KEY);
  });

  test("that says nothing, or never comes to an end, holds nobody up", async () => {
    const silent = await aReceiver(() => {});
    const endless = await aReceiver((response) => {
      const drops = setInterval(() => response.write("."), 50);
      response.on("close", () => clearInterval(drops));
    });
    const toSilent = aNotifier(silent.url, (stopping) => stopping.abort());
    const toEndless = aNotifier(endless.url);
    await Promise.all([toSilent.notifier.tell("hello"), toEndless.notifier.tell("hello")]);
    expect(toSilent.log.map(({ message }) => message)).toEqual([UNANSWERED]);
    // It has taken the message before it began to talk.
    expect([endless.heard.length, toEndless.log]).toEqual([1, []]);
  });

  test("that says nothing is given up, even if memory is freed meanwhile", async () => {
    const silent = await aReceiver(() => {});
    const { notifier, log } = aNotifier(silent.url, (stopping) => stopping.abort());
    const told = notifier.tell("hello");
    await expect.poll(() => silent.heard.length).toBe(1);
    await freeMemory();
    await told;
    expect(log.map(({ message }) => message)).toEqual([UNANSWERED]);
  });
});

test("once it is told to stop it tries no more", async () => {
  const { heard, url } = await aReceiver(status(500));
  const { notifier, log } = aNotifier(url, (stopping) => stopping.abort());
  await notifier.tell("hello");
  expect(heard).toHaveLength(1);
  expect(log).toEqual([expect.objectContaining({ message: "notify.webhook was not reached: HTTP 500" })]);
});

test.each(["http", "https"])(
  "once it is told to stop, all messages have 5 s together, over silent %s too",
  async (scheme) => {
    const held: Socket[] = [];
    const server = createTcpServer((socket) => {
      if (held.push(socket) === 1) socket.destroy();
    });
    const { port } = await listening(server);
    const { notifier, log, stopping, clock } = aNotifier(`${scheme}://127.0.0.1:${port}/`);
    stopping.abort();
    await notifier.tell("a");
    clock.elapsed = 4_900;
    const begun = performance.now();
    await notifier.tell("b");
    expect(performance.now() - begun).toBeLessThan(5_000);
    clock.elapsed = 5_000;
    await notifier.tell("c");
    expect(held).toHaveLength(2);
    expect(log.slice(1).map(({ message }) => message)).toEqual([
      "notify.webhook was not reached: no answer within 0.1 s",
      "notify.webhook was not reached: groupsync is stopping, and no time was left for this message",
    ]);
  },
);

/** Collects garbage at once. A flag of V8 would stay set for the other test files of this process. */
async function freeMemory(): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
}

test("an address that was not reached is known, with its reason, until it is reached", async () => {
  const { url } = await aReceiver(status(500), status(500), status(500), status(200));
  const { notifier } = aNotifier(url);
  expect(notifier.unreached).toEqual([]);
  await notifier.tell("a");
  expect(notifier.unreached).toEqual([{ key: "notify.webhook", since: aClock().now(), message: "HTTP 500" }]);
  await notifier.beat();
  expect(notifier.unreached).toHaveLength(1);
  await notifier.tell("b");
  expect(notifier.unreached).toEqual([]);
});
