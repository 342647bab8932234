import { createServer, type Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HttpGroupService } from "../../../src/adapters/service/http-group-service.ts";
import { SERVICE_FAILURES, ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { ServiceGroup, ServiceMethod } from "../../../src/ports/group-service.ts";
import { aGroup } from "../../builders/groups.ts";
import { everythingIn } from "../../contracts/everything-in.ts";
import { writtenForms } from "../../support/databases/written-forms.ts";
import { LONG } from "../../support/long.ts";
import { listening } from "../../support/servers/listening.ts";
import {
  anAnswer,
  isClearNo,
  isOrdinary,
  isSuccess,
  isWhole,
  promisedIn,
  serialised,
  type WireBytes,
} from "./answers.ts";

const ID = "acme";
const KEY = "k-/+key~of?all";
const TOKEN = 't"ok\\en/ü of acme';
/** What nobody has told the adapter can only be known by its looks. */
const OTHER_TOKEN = "R2Dj-9_xQmW4tYb7Lk0sVh3ZcNf6PaE1uGi8oXrT";
const OPERATIONS = ["GET", "POST", "DELETE"] as const;
const RUNS = Number(process.env.GROUPSYNC_TEST_FUZZ ?? (LONG ? 1_500 : 50));
/** Many times what a round takes on an idle machine. */
const MS_PER_RUN = 2_000;

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
