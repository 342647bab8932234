import { createServer, type Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HttpGroupService } from "../../../src/adapters/service/http-group-service.ts";
import { SERVICE_FAILURES, ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { hidesCharacters } from "../../../src/core/text/printable.ts";
import type { ServiceGroup, ServiceMethod } from "../../../src/ports/group-service.ts";
import { aGroup } from "../../builders/groups.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { writtenForms } from "../../support/databases/written-forms.ts";
import { LONG } from "../../support/long.ts";
import { listening } from "../../support/servers/listening.ts";

const ID = "acme";
const KEY = "k-/+key~of?all";
const TOKEN = 't"ok\\en/ü of acme';
/** What nobody has told the adapter can only be known by its looks. */
const OTHER_TOKEN = "R2Dj-9_xQmW4tYb7Lk0sVh3ZcNf6PaE1uGi8oXrT";
const OPERATIONS = ["GET", "POST", "DELETE"] as const;
const RUNS = Number(process.env.GROUPSYNC_TEST_FUZZ ?? (LONG ? 1_500 : 50));
/** Many times what a round takes on an idle machine. */
const MS_PER_RUN = 2_000;

/** An answer as a server sends it, and how it goes about that. */
interface WireBytes {
  readonly status: number;
  readonly contentType: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly framing: Framing;
  /** What comes before the answer, and after it. */
  readonly before: string;
  readonly after: string;
}

/**
 * How the end of the body is told. `length`, `chunks` and `close` are right; `too long` promises more than comes
 * before the connection ends, `too short` less; `cut` breaks off where this share of the bytes is sent; `hang` says
 * nothing more from there on, and `trickle` a byte now and then.
 */
type Framing =
  | { readonly kind: "length" | "chunks" | "close" | "too long" | "too short" | "bad chunks" | "both" }
  | { readonly kind: "cut" | "hang" | "trickle"; readonly share: number };

/** Where a service is free to put them, an answer has these. */
interface Planted {
  readonly id: string;
  readonly secrets: readonly string[];
}

/** The usual, this many times as often as each of the others. */
const mostly = <T, U>(weight: number, usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<U>[]) =>
  fc.oneof({ weight, arbitrary: usual }, ...others.map((arbitrary) => ({ weight: 1, arbitrary })));

/** Any answer at all, good ones among them. */
function anAnswer({ id, secrets }: Planted): fc.Arbitrary<WireBytes> {
  const form = fc.constantFrom(...secrets.flatMap(writtenForms));
  const words = fc.oneof(
    form.map((secret) => `what is ${secret}?`),
    form,
    fc.string({ unit: "binary" }),
    fc.constantFrom("", "no", `there is no ${id}`, "\u001b[31m"),
  );
  const wrong = fc.oneof(
    words,
    fc.constantFrom(0, 1, -1, 1.5, 1e300, true, false, null, [], {}, [[]], "1"),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const often = <T>(good: T): fc.Arbitrary<unknown> => mostly(12, fc.constant(good), wrong);

  const userGroup = fc.record(
    {
      team_id: often(7),
      token: mostly(12, fc.string({ minLength: 1, unit: "grapheme" }), wrong),
      name: often("Acme"),
      provided_id: often(id),
    },
    { requiredKeys: ["token", "provided_id"] },
  );
  const promised = fc
    .record(
      {
        success: often(1),
        new_user_group: often(true),
        user_group: mostly(12, userGroup, wrong),
        message: wrong,
        error: wrong,
        constructor: wrong,
      },
      { requiredKeys: ["success", "user_group"] },
    )
    .map((answer) => JSON.stringify(answer));
  const refusal = fc
    .record({ success: fc.constantFrom(0, false), error: words, detail: words }, { requiredKeys: [] })
    .map((answer) => JSON.stringify(answer));
  const odd = fc.constantFrom(
    '{"success":0,"success":1}',
    '{"success":1e999}',
    `{"success":1${"0".repeat(5_000)}}`,
    '{"__proto__":{"success":1,"new_user_group":true}}',
    '{"success":1,"user_group":{"__proto__":{"team_id":7,"token":"t","name":"n"}}}',
    "<!doctype html><title>403</title>",
    "<html>",
    "null",
    "",
  );
  const text = fc.oneof(
    { weight: 6, arbitrary: promised },
    { weight: 2, arbitrary: refusal },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: words },
    { weight: 1, arbitrary: words.map((inner) => `<html>${inner}</html>`) },
    { weight: 1, arbitrary: odd },
  );
  const body = mostly(
    9,
    text.map((whole) => Buffer.from(whole)),
    fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
  );

  const status = fc.oneof(
    { weight: 6, arbitrary: fc.constant(200) },
    {
      weight: 6,
      arbitrary: fc.constantFrom(201, 301, 303, 400, 401, 403, 404, 405, 408, 409, 422, 429, 500, 502, 503),
    },
    { weight: 3, arbitrary: fc.integer({ min: 200, max: 599 }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 99, 100, 101, 199, 204, 205, 304, 600, 999) },
  );
  const aHeader = fc.oneof(
    fc
      .constantFrom("0", "7", "-5", "9".repeat(50), "1e9", "0x10", "Infinity", "soon", "")
      .map((value) => `Retry-After: ${value}`),
    fc
      .constantFrom(
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 99 Foo 2026 00:00:00 GMT",
      )
      .map((date) => `Retry-After: ${date}`),
    form.map((secret) => `Location: https://sso.test/${encodeURIComponent(secret)}`),
    form.map((secret) => `Location: https://${secret.replace(/[^\w-]/g, "")}.test/`),
    form.map((secret) => `Set-Cookie: key=${encodeURIComponent(secret)}`),
    fc.constantFrom(
      "__proto__: x",
      "constructor: x",
      "Content-Encoding: gzip",
      "Connection: close",
      "Keep-Alive: timeout=0",
      "Upgrade: h2c",
      "Vary: *",
    ),
    fc.constantFrom("Bad Header", ": x", `X-Long: ${"x".repeat(20_000)}`, "X-Bell: \u0007"),
  );
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const framing: fc.Arbitrary<Framing> = fc.oneof(
    { weight: 20, arbitrary: fc.record({ kind: fc.constantFrom("length", "length", "chunks", "close") }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constantFrom("too long", "too short", "bad chunks", "both") }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("cut"), share }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("hang", "trickle"), share }) },
  );
  return fc.record({
    status,
    contentType: fc.constantFrom(
      "application/json",
      "application/json",
      "text/html",
      "application/json; charset=utf-16",
      "",
    ),
    headers: mostly(2, fc.constant<string[]>([]), fc.array(aHeader, { maxLength: 3 })),
    body,
    framing,
    before: mostly(
      20,
      fc.constant(""),
      form.map((secret) => `220 ${secret} ready\r\n`),
      fc.constantFrom(...[100, 101, 102, 103].map((early) => `HTTP/1.1 ${early} Early\r\n\r\n`)),
    ),
    after: mostly(
      20,
      fc.constant(""),
      fc.constantFrom('HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"success":1}', "\r\n\r\n", "garbage"),
    ),
  });
}

/** The head that goes with the framing, and the bytes of the body as they are sent. */
function serialised(answer: WireBytes): Buffer {
  const { status, contentType, headers, body, framing } = answer;
  const ends: Readonly<Record<Framing["kind"], readonly string[]>> = {
    length: [`Content-Length: ${body.length}`],
    cut: [`Content-Length: ${body.length + 1}`],
    hang: [`Content-Length: ${body.length + 1}`],
    trickle: [`Content-Length: ${body.length + 1_000_000}`],
    "too long": [`Content-Length: ${body.length + MISSING}`],
    "too short": [`Content-Length: ${bodyOf(answer).length}`],
    chunks: ["Transfer-Encoding: chunked"],
    "bad chunks": ["Transfer-Encoding: chunked"],
    both: ["Transfer-Encoding: chunked", `Content-Length: ${body.length}`],
    close: ["Connection: close"],
  };
  const lines = [
    `HTTP/1.1 ${String(status).padStart(3, "0")} Said`,
    `Content-Type: ${contentType}`,
    ...headers,
    ...ends[framing.kind],
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return Buffer.concat([head, isChunked(framing) ? chunked(body, framing.kind === "bad chunks") : body]);
}

const isChunked = ({ kind }: Framing): boolean =>
  kind === "chunks" || kind === "bad chunks" || kind === "both";

function chunked(body: Buffer, isBad: boolean): Buffer {
  const half = Math.ceil(body.length / 2);
  const chunks = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0);
  const parts = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...parts, Buffer.from(isBad ? "xyz\r\n" : "0\r\n\r\n")]);
}

/** How many bytes a head that is too long announces beyond the body. */
const MISSING = 10;

/** As much of the body as the head announces. What comes behind the body counts as its end if bytes are missing. */
function bodyOf({ body, framing, after }: WireBytes): Buffer {
  if (framing.kind === "too short") return body.subarray(0, body.length / 2);
  if (framing.kind === "too long") return Buffer.concat([body, Buffer.from(after).subarray(0, MISSING)]);
  return body;
}

/** Whether all of the answer comes, and its end can be told. */
const isWhole = ({ framing, before, after, status }: WireBytes): boolean =>
  (["length", "chunks", "close", "too short"].includes(framing.kind) ||
    (framing.kind === "too long" && Buffer.byteLength(after) >= MISSING)) &&
  !/^220|^HTTP\/1.1 101/.test(before) &&
  status >= 200;

const isSuccess = ({ status }: WireBytes): boolean => status >= 200 && status < 300;

/** Nothing in it is odd but what it says. */
const isOrdinary = ({ framing, headers, before, after, status }: WireBytes): boolean =>
  ["length", "chunks", "close"].includes(framing.kind) &&
  headers.length === 0 &&
  before === "" &&
  after === "" &&
  status !== 204 &&
  status !== 205;

/** What an answer to this method promises, where it does. The other side of the readers in answer.ts. */
function promisedIn(wire: WireBytes, method: ServiceMethod, id: string): Record<string, unknown> | undefined {
  const answer = jsonObject(bodyOf(wire));
  if (answer?.success !== 1) return undefined;
  if (method === "DELETE") return {};
  const { user_group: group, new_user_group: isNew } = answer;
  if (method === "GET" && typeof isNew !== "boolean") return undefined;
  if (typeof group !== "object" || group === null) return undefined;
  const own = (name: string): unknown => (Object.hasOwn(group, name) ? Reflect.get(group, name) : undefined);
  const [teamId, token, name] = [own("team_id"), own("token"), own("name")];
  if (!Number.isSafeInteger(teamId) || typeof name !== "string" || own("provided_id") !== id)
    return undefined;
  if (
    typeof token !== "string" ||
    token.trim() === "" ||
    token.length > 8192 ||
    token.includes(KEY) ||
    /\p{Cs}/u.test(token) ||
    hidesCharacters(token)
  )
    return undefined;
  return method === "GET" ? { isNew, group: { teamId, token, name } } : { teamId, token, name };
}

/** Whether an answer leaves no doubt that nothing was done. */
function isClearNo(answer: WireBytes): boolean {
  const { status } = answer;
  const json = jsonObject(bodyOf(answer));
  if (status === 401 || status === 403 || status === 429) return true;
  if (status >= 400 && status < 500 && status !== 408) return json !== undefined && json.success !== 1;
  return status >= 200 && status < 300 && (json?.success === 0 || json?.success === false);
}

function jsonObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

type Answering = (socket: Socket) => void;

/** A server that answers the n-th client, whose base url ends in `/n`, as it is told. */
async function aServer() {
  const answers = new Map<string, Answering>();
  const server = createServer((socket) => {
    let received = "";
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      const [, path = "", length] = /^\w+ \/(\d+)\/.*?\r\ncontent-length: (\d+)/is.exec(received) ?? [];
      const bodyAt = received.indexOf("\r\n\r\n") + 4;
      if (length === undefined || received.length < bodyAt + Number(length)) return;
      received = "";
      answers.get(path)?.(socket);
    });
  });
  const { port } = await listening(server);
  let clients = 0;
  return {
    client(timeoutMs: number) {
      const path = String(++clients);
      const service = new HttpGroupService({
        baseUrl: `http://127.0.0.1:${port}/${path}`,
        apiKey: new Secret(KEY),
        timeoutMs,
        concurrency: 1,
      });
      return { service, answerWith: (answering: Answering) => answers.set(path, answering) };
    },
  };
}

function send(answer: WireBytes): Answering {
  const { framing, before, after } = answer;
  const bytes = serialised(answer);
  return (socket) => {
    socket.write(before);
    if ("share" in framing) {
      socket.write(bytes.subarray(0, framing.share * bytes.length));
      if (framing.kind === "cut") socket.end();
      if (framing.kind === "trickle") trickle(socket);
      return;
    }
    socket.write(bytes);
    socket.write(after);
    if (framing.kind === "close" || framing.kind === "too long") socket.end();
  };
}

function trickle(socket: Socket): void {
  const timer = setInterval(() => socket.write(" "), 20);
  socket.once("close", () => clearInterval(timer));
}

const WELL: Answering = (socket) => {
  const body = JSON.stringify({
    success: 1,
    new_user_group: false,
    user_group: { team_id: 7, token: "well", name: "Acme", provided_id: ID },
  });
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
};

const withToken = ({ token, ...group }: ServiceGroup) => ({ ...group, token: token.reveal() });

/** Resolves to what `promisedIn` finds in the answer. */
async function call(service: HttpGroupService, method: ServiceMethod): Promise<Record<string, unknown>> {
  const token = new Secret(TOKEN);
  switch (method) {
    case "GET": {
      const { isNew, group } = await service.getOrCreate(aGroup({ user_group_id: ID }));
      return { isNew, group: withToken(group) };
    }
    case "POST":
      return withToken(await service.rotate(ID, token));
    case "DELETE":
      await service.remove({ user_group_id: ID, token, dataSourceId: null });
      return {};
  }
}

type Result = { readonly value: unknown } | { readonly failure: ServiceFailure };

/** Throws what is neither an answer nor a documented failure without secrets. */
async function resultOf(service: HttpGroupService, method: ServiceMethod): Promise<Result> {
  try {
    return { value: await call(service, method) };
  } catch (error) {
    if (!(error instanceof ServiceFailure)) throw error;
    expect(Object.keys(SERVICE_FAILURES)).toContain(error.code);
    const shown = everythingIn(error);
    const secrets = [KEY, OTHER_TOKEN, ...(method === "GET" ? [] : [TOKEN])];
    for (const form of secrets.flatMap(writtenForms)) expect(shown).not.toContain(form);
    expect(error.message).not.toMatch(/\p{C}/u);
    expect(error.message.length).toBeLessThan(500);
    expect(error.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
    expect(error.retryAfterMs ?? 0).toBeLessThanOrEqual(3_600_000);
    return { failure: error };
  }
}

/** A connection that the server has closed may be found out with the next request on it. */
async function worksAgain(service: HttpGroupService): Promise<boolean> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    if ("value" in (await resultOf(service, "GET"))) return true;
  }
  return false;
}

test("any bytes of a server are a complete answer or a documented failure without secrets, and the next call works", {
  timeout: 60_000 + RUNS * MS_PER_RUN,
}, async () => {
  const { client } = await aServer();
  const exchange = fc.record({
    answer: anAnswer({ id: ID, secrets: [KEY, TOKEN, OTHER_TOKEN] }),
    method: fc.constantFrom(...OPERATIONS),
  });
  const tryOut = async ({ answer, method }: { answer: WireBytes; method: ServiceMethod }): Promise<void> => {
    const { service, answerWith } = client(1_000);
    try {
      answerWith(send(answer));
      const result = await resultOf(service, method);
      const promised = promisedIn(answer, method, ID);
      if ("value" in result) {
        expect(isSuccess(answer)).toBe(true);
        expect(result.value).toEqual(promised);
      } else {
        const { code, mayHaveHappened } = result.failure;
        if (!mayHaveHappened) expect(isWhole(answer) && isClearNo(answer)).toBe(true);
        // A machine may be too slow for any answer.
        if (isOrdinary(answer) && isSuccess(answer) && promised) expect(code).toBe("TIMEOUT");
      }
      answerWith(WELL);
      expect(await worksAgain(service)).toBe(true);
    } finally {
      await service.close();
    }
  };
  // Beside each other, for some of them wait until their time is over.
  const exchanges = fc.array(exchange, { minLength: 1, maxLength: 8 });
  const property = fc.asyncProperty(exchanges, async (some) => void (await Promise.all(some.map(tryOut))));
  await fc.assert(property, { numRuns: RUNS });
});

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const CHUNKED = "Transfer-Encoding: chunked\r\n";
const spaces = " ".repeat(0x10000);

describe("without an end", () => {
  test.each([
    { what: "a body of a terabyte", head: `${HEAD}Content-Length: 1099511627776\r\n\r\n`, more: spaces },
    { what: "a body in chunks", head: `${HEAD}${CHUNKED}\r\n`, more: `10000\r\n${spaces}\r\n` },
    { what: "a body until the connection ends", head: `${HEAD}Connection: close\r\n\r\n`, more: spaces },
    { what: "headers", head: HEAD, more: `X-More: ${"x".repeat(1_000)}\r\n` },
    { what: "one header", head: `${HEAD}X-More: `, more: "x".repeat(0x10000) },
    {
      what: "the headers behind a body",
      head: `${HEAD}${CHUNKED}\r\n0\r\n`,
      more: `X-More: ${"x".repeat(1_000)}\r\n`,
    },
  ])("$what is cut off, after little more than an answer may have", async ({ head, more }) => {
    const { client } = await aServer();
    for (const method of OPERATIONS) {
      const { service, answerWith } = client(60_000);
      const poured = new Promise<number>((resolve) => {
        answerWith((socket) => {
          const pour = (): void => {
            while (socket.writable && socket.write(more));
          };
          socket.write(head);
          socket.on("drain", pour).once("close", () => resolve(socket.bytesWritten));
          pour();
        });
      });
      const result = await resultOf(service, method);
      expect(result).toMatchObject({ failure: { mayHaveHappened: true } });
      // What the system keeps between the two is in this too.
      expect(await poured).toBeLessThan(32 * 1024 * 1024);
      answerWith(WELL);
      expect(await worksAgain(service)).toBe(true);
      await service.close();
    }
  });

  test.each([
    { what: "answers to come", head: "", more: "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" },
    { what: "a chunk's extension", head: `${HEAD}${CHUNKED}\r\n1`, more: ";x=y" },
  ])("$what are read until the time is over, and not kept", async ({ head, more }) => {
    const { client } = await aServer();
    const { service, answerWith } = client(1_000);
    const batch = more.repeat(1_000);
    answerWith((socket) => {
      const pour = (): void => {
        while (socket.writable && socket.write(batch));
      };
      socket.write(head);
      socket.on("drain", pour);
      pour();
    });
    const before = process.memoryUsage().rss;
    expect(await resultOf(service, "POST")).toMatchObject({ failure: { code: "TIMEOUT" } });
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024);
    answerWith(WELL);
    expect(await worksAgain(service)).toBe(true);
    await service.close();
  });
});
