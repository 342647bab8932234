import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { describe } from "../core/errors.ts";
import type { Fate, Fault } from "./faults.ts";
import type { Groups, HeldGroup } from "./groups.ts";
import { type Answer, jsonAnswer, type Reply } from "./reply.ts";
import type { RequestReport, Tally } from "./tally.ts";
import { carriesKey, type RequestBody, type UserGroupApi } from "./user-group-api.ts";

/** The body of `GET /sandbox/groups`: all groups, in the order in which they were created. */
export interface GroupsReport {
  readonly groups: readonly (HeldGroup & { readonly team_id: number })[];
}

export interface Routed {
  readonly api: UserGroupApi;
  readonly groups: Groups;
  readonly tally: Tally;
  readonly apiKey: string;
  readonly teamId: number;
  readonly nextFate: () => Fate;
  /** Aborted when the sandbox closes: a delayed request that is still waiting is then dropped. */
  readonly closed: AbortSignal;
}

const MAX_BODY_BYTES = 1024 * 1024;

/** Sends a request to `/api/user` through its fate to the API, and answers the pages under `/sandbox`. */
export function routes(routed: Routed): RequestListener {
  return (request, response) => {
    const path = request.url?.split("?", 1)[0];
    if (path === "/api/user") {
      serveApi(routed, request, response);
    } else {
      request.resume();
      send(response, page(routed, request, path));
    }
  };
}

function serveApi(
  { api, tally, nextFate, closed }: Routed,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method = "", headers } = request;
  tally.begin(request.socket);

  const answer = (body: RequestBody, fault: Fault, leave: () => void): void => {
    const reply = orInternalError(() =>
      api.reply(
        { method, authorization: headers.authorization, contentType: headers["content-type"], body },
        fault,
        Date.now(),
      ),
    );
    switch (reply.kind) {
      case "answer":
        leave();
        tally.end(method, reply.status);
        send(response, reply);
        return;
      case "cut":
        leave();
        tally.end(method, "cut");
        request.socket.destroy();
        return;
      case "hang":
        response.once("close", () => {
          leave();
          tally.end(method, "abandoned");
        });
        return;
      default:
        reply satisfies never;
    }
  };

  const received = (body: RequestBody): void => {
    const id = api.groupIn(body);
    if (id !== undefined) tally.names(method, id);
    const { delay, fault } = nextFate();
    const refusal = api.enter(fault);
    if (refusal) {
      tally.end(method, refusal.status);
      send(response, refusal);
      return;
    }
    const answerNow = () => answer(body, fault, () => api.leave(fault));
    if (delay === 0) answerNow();
    else setTimeout(() => closed.aborted || answerNow(), delay).unref();
  };

  readBody(request, received, () => tally.end(method, "abandoned"));
}

function page({ groups, tally, apiKey, teamId }: Routed, request: IncomingMessage, path = ""): Answer {
  if (path !== "/sandbox/groups" && path !== "/sandbox/requests") {
    return jsonAnswer(404, { success: 0, error: `there is nothing at ${path}` });
  }
  if (!carriesKey(request.headers.authorization, apiKey)) {
    return jsonAnswer(401, {
      success: 0,
      error: "these pages want the same Authorization header as /api/user",
    });
  }
  switch (`${request.method} ${path}`) {
    case "GET /sandbox/groups": {
      const held = [...groups.all()].map((group) => ({ ...group, team_id: teamId }));
      return jsonAnswer(200, { groups: held } satisfies GroupsReport);
    }
    case "GET /sandbox/requests":
      return jsonAnswer(200, tally.report() satisfies RequestReport);
    case "DELETE /sandbox/requests":
      tally.reset();
      return jsonAnswer(200, { success: 1 });
    default:
      return jsonAnswer(405, { success: 0, error: `${request.method} does not work on ${path}` });
  }
}

/** Reads on past the limit without keeping anything, so that the client gets to see its answer. */
function readBody(
  request: IncomingMessage,
  received: (body: RequestBody) => void,
  abandoned: () => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  });
  request.on("end", () => received(bytes > MAX_BODY_BYTES ? { kind: "too-large" } : parseBody(chunks)));
  request.on("error", abandoned);
}

function parseBody(chunks: readonly Buffer[]): RequestBody {
  const [first] = chunks;
  const bytes = chunks.length === 1 && first ? first : Buffer.concat(chunks);
  try {
    return { kind: "json", value: JSON.parse(bytes.toString()) };
  } catch {
    return { kind: "malformed" };
  }
}

/** A state file that can't be written fails the request, not the sandbox. */
function orInternalError(reply: () => Reply): Reply {
  try {
    return reply();
  } catch (error) {
    return jsonAnswer(500, { success: 0, error: describe(error) });
  }
}

function send(response: ServerResponse, reply: Answer): void {
  const content = Buffer.from(reply.body);
  response.writeHead(reply.status, { ...reply.headers, "content-length": content.length });
  response.end(content);
}
