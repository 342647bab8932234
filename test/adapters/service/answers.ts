import fc from "fast-check";
import type { ServiceMethod } from "../../../src/ports/group-service.ts";
import { writtenForms } from "../../support/databases/written-forms.ts";

/** An answer as a server sends it, and how it goes about that. */
export interface WireBytes {
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
export type Framing =
  | { readonly kind: "length" | "chunks" | "close" | "too long" | "too short" | "bad chunks" | "both" }
  | { readonly kind: "cut" | "hang" | "trickle"; readonly share: number };

/** Where a service is free to put them, an answer has these. */
export interface Planted {
  readonly id: string;
  readonly secrets: readonly string[];
}

/** Any answer at all, good ones among them. */
export function anAnswer({ id, secrets }: Planted): fc.Arbitrary<WireBytes> {
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
  const often = <T>(good: T): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 12, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: wrong });

  const userGroup = fc.record(
    {
      team_id: often(7),
      token: fc.oneof(
        { weight: 12, arbitrary: fc.string({ minLength: 1, unit: "grapheme" }) },
        { weight: 1, arbitrary: wrong },
      ),
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
        user_group: fc.oneof({ weight: 12, arbitrary: userGroup }, { weight: 1, arbitrary: wrong }),
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
  const deep = fc
    .tuple(
      fc.constantFrom('{"success":', '{"success":1,"user_group":', "", '{"__proto__":'),
      fc.constantFrom("[", '{"a":'),
    )
    .map(([start, open]) => {
      const [close, depth] = [open === "[" ? "]" : "}", 50_000];
      return `${start}${open.repeat(depth)}${open === "[" ? "" : "1"}${close.repeat(depth)}${start === "" ? "" : "}"}`;
    });
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
    { weight: 1, arbitrary: deep },
    { weight: 1, arbitrary: odd },
  );
  const damage: fc.Arbitrary<(whole: Buffer) => Buffer> = fc.oneof(
    { weight: 12, arbitrary: fc.constant((whole: Buffer) => whole) },
    { weight: 1, arbitrary: fc.constant((whole: Buffer) => Buffer.concat([Buffer.from("\ufeff"), whole])) },
    { weight: 1, arbitrary: fc.constant((whole: Buffer) => Buffer.concat([whole, Buffer.from([0])])) },
    { weight: 1, arbitrary: fc.constant((whole: Buffer) => Buffer.from(whole.toString(), "utf16le")) },
    {
      weight: 1,
      arbitrary: fc
        .double({ min: 0, max: 1, noNaN: true })
        .map((share) => (whole: Buffer) => whole.subarray(0, share * whole.length)),
    },
  );
  const body = fc.oneof(
    { weight: 9, arbitrary: fc.tuple(text, damage).map(([whole, harm]) => harm(Buffer.from(whole))) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)) },
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
    headers: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(aHeader, { maxLength: 3 }) },
    ),
    body,
    framing,
    before: fc.oneof(
      { weight: 20, arbitrary: fc.constant("") },
      { weight: 1, arbitrary: form.map((secret) => `220 ${secret} ready\r\n`) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(...[100, 101, 102, 103].map((early) => `HTTP/1.1 ${early} Early\r\n\r\n`)),
      },
    ),
    after: fc.oneof(
      { weight: 20, arbitrary: fc.constant("") },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"success":1}',
          "\r\n\r\n",
          "garbage",
        ),
      },
    ),
  });
}

/** The head that goes with the framing, and the bytes of the body as they are sent. */
export function serialised(answer: WireBytes): Buffer {
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
export const isWhole = ({ framing, before, after, status }: WireBytes): boolean =>
  (["length", "chunks", "close", "too short"].includes(framing.kind) ||
    (framing.kind === "too long" && Buffer.byteLength(after) >= MISSING)) &&
  !/^220|^HTTP\/1.1 101/.test(before) &&
  status >= 200;

export const isSuccess = ({ status }: WireBytes): boolean => status >= 200 && status < 300;

/** Nothing in it is odd but what it says. */
export const isOrdinary = ({ framing, headers, before, after, status }: WireBytes): boolean =>
  ["length", "chunks", "close"].includes(framing.kind) &&
  headers.length === 0 &&
  before === "" &&
  after === "" &&
  status !== 204 &&
  status !== 205;

/** What an answer to this method promises, where it does. The other side of the readers in answer.ts. */
export function promisedIn(
  wire: WireBytes,
  method: ServiceMethod,
  id: string,
): Record<string, unknown> | undefined {
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
    token === "" ||
    token.length > 8192 ||
    token.includes("\0") ||
    /\p{Cs}/u.test(token)
  )
    return undefined;
  return method === "GET" ? { isNew, group: { teamId, token, name } } : { teamId, token, name };
}

/** Whether an answer leaves no doubt that nothing was done. */
export function isClearNo(answer: WireBytes): boolean {
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
