import fc from "fast-check";
import { expect, test } from "vitest";
import {
  readGetAnswer,
  readPostAnswer,
  successfulBody,
  type WireAnswer,
  type WireRequest,
} from "../../../src/adapters/service/answer.ts";
import { SERVICE_FAILURES, ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { hidesCharacters } from "../../../src/core/text/printable.ts";
import type { ServiceGroup, ServiceMethod } from "../../../src/ports/group-service.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { writtenForms } from "../../support/databases/written-forms.ts";
import { LONG } from "../../support/long.ts";

const ID = "acme";
const KEY = "k-/+key~of?all";
const TOKEN = 't"ok\\en/ü of acme';
/** What nobody has told the adapter can only be known by its looks. */
const OTHER_TOKEN = "R2Dj-9_xQmW4tYb7Lk0sVh3ZcNf6PaE1uGi8oXrT";
const RUNS = Number(process.env.GROUPSYNC_TEST_FUZZ ?? (LONG ? 20_000 : 500));

/** Where a service is free to put them, an answer has these. */
interface Planted {
  readonly id: string;
  readonly secrets: readonly string[];
}

/** The usual, this many times as often as each of the others. */
const mostly = <T, U>(weight: number, usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<U>[]) =>
  fc.oneof({ weight, arbitrary: usual }, ...others.map((arbitrary) => ({ weight: 1, arbitrary })));

/** Any answer at all, good ones among them. */
function anAnswer({ id, secrets }: Planted): fc.Arbitrary<WireAnswer> {
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
  const status = fc.oneof(
    { weight: 6, arbitrary: fc.constant(200) },
    {
      weight: 6,
      arbitrary: fc.constantFrom(201, 301, 303, 400, 401, 403, 404, 405, 408, 409, 422, 429, 500, 502, 503),
    },
    { weight: 3, arbitrary: fc.integer({ min: 200, max: 599 }) },
    { weight: 1, arbitrary: fc.constantFrom(204, 205, 304, 600, 999) },
  );
  const seldom = (arbitrary: fc.Arbitrary<string>) => mostly(3, fc.constant(undefined), arbitrary);
  return fc.record({
    status,
    contentType: fc.constantFrom(
      "application/json",
      "application/json",
      "text/html",
      "application/json; charset=utf-16",
      "",
    ),
    contentEncoding: seldom(fc.oneof(form, fc.constantFrom("gzip", "identity", ""))),
    date: seldom(fc.constantFrom("Wed, 21 Oct 2015 07:28:00 GMT", "soon", "")),
    retryAfter: seldom(
      fc.constantFrom(
        ...["0", "7", "-5", "9".repeat(50), "1e9", "0x10", "Infinity", "soon", ""],
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 99 Foo 2026 00:00:00 GMT",
      ),
    ),
    location: seldom(
      fc.oneof(
        form.map((secret) => `https://sso.test/${encodeURIComponent(secret)}`),
        form.map((secret) => `https://${secret.replace(/[^\w-]/g, "")}.test/`),
        words,
      ),
    ),
    body: text,
  });
}

/** What an answer to this method promises, where it does. The other side of the readers in answer.ts. */
function promisedIn({ body }: WireAnswer, method: ServiceMethod): Record<string, unknown> | undefined {
  const answer = jsonObject(body);
  if (answer?.success !== 1) return undefined;
  if (method === "DELETE") return {};
  const { user_group: group, new_user_group: isNew } = answer;
  if (method === "GET" && typeof isNew !== "boolean") return undefined;
  if (typeof group !== "object" || group === null) return undefined;
  const own = (name: string): unknown => (Object.hasOwn(group, name) ? Reflect.get(group, name) : undefined);
  const [teamId, token, name] = [own("team_id"), own("token"), own("name")];
  if (!Number.isSafeInteger(teamId) || typeof name !== "string" || own("provided_id") !== ID)
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
  const shownName = [KEY, token].reduce(
    (rest, secret) => (secret.length < 8 ? rest : rest.replaceAll(secret, "[…]")),
    name,
  );
  const read = { teamId, token, name: shownName };
  return method === "GET" ? { isNew, group: read } : read;
}

/** Whether an answer leaves no doubt that nothing was done. */
function isClearNo({ status, body }: WireAnswer): boolean {
  const json = jsonObject(body);
  if (status === 401 || status === 403 || status === 429) return true;
  if (status >= 400 && status < 500 && status !== 408) return json !== undefined && json.success !== 1;
  return status >= 200 && status < 300 && (json?.success === 0 || json?.success === false);
}

function jsonObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

const withToken = ({ token, ...group }: ServiceGroup) => ({ ...group, token: token.reveal() });

/** What `promisedIn` finds in the answer. */
function read(answer: WireAnswer, method: ServiceMethod): Record<string, unknown> {
  const request: WireRequest = {
    method,
    id: ID,
    receivedAt: new Date("2026-03-01T12:00:00Z"),
    apiKey: new Secret(KEY),
    secrets: [KEY, ...(method === "GET" ? [] : [TOKEN])].map((secret) => new Secret(secret)),
  };
  switch (method) {
    case "GET": {
      const { isNew, group } = readGetAnswer(answer, request);
      return { isNew, group: withToken(group) };
    }
    case "POST":
      return withToken(readPostAnswer(answer, request));
    case "DELETE":
      successfulBody(answer, request);
      return {};
  }
}

/** Expects a documented failure without secrets, which is called harmless only if the answer leaves no doubt. */
function checkFailure(error: unknown, answer: WireAnswer, method: ServiceMethod): void {
  if (!(error instanceof ServiceFailure)) throw error;
  expect(Object.keys(SERVICE_FAILURES)).toContain(error.code);
  const shown = everythingIn(error);
  const secrets = [KEY, OTHER_TOKEN, ...(method === "GET" ? [] : [TOKEN])];
  for (const form of secrets.flatMap(writtenForms)) expect(shown).not.toContain(form);
  expect(error.message).not.toMatch(/\p{C}/u);
  expect(error.message.length).toBeLessThan(500);
  expect(error.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
  expect(error.retryAfterMs ?? 0).toBeLessThanOrEqual(3_600_000);
  if (!error.mayHaveHappened) expect(isClearNo(answer)).toBe(true);
}

test("any answer of a server is a complete answer or a documented failure without secrets", {
  timeout: 60_000 + RUNS * 20,
}, () => {
  const anyAnswer = anAnswer({ id: ID, secrets: [KEY, TOKEN, OTHER_TOKEN] });
  const anyMethod = fc.constantFrom("GET" as const, "POST" as const, "DELETE" as const);
  fc.assert(
    fc.property(anyAnswer, anyMethod, (answer, method) => {
      const isSuccess = answer.status >= 200 && answer.status < 300;
      const promised = isSuccess ? promisedIn(answer, method) : undefined;
      let result: unknown;
      try {
        result = read(answer, method);
      } catch (error) {
        checkFailure(error, answer, method);
        result = undefined;
      }
      expect(result).toEqual(promised);
    }),
    { numRuns: RUNS },
  );
});
