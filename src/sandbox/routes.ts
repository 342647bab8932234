import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { describe } from "../core/failure/sync-error.ts";
import { dashboard } from "./dashboard.ts";
import type { Groups, StoredGroup } from "./groups.ts";
import type { RequestCounts, RequestReport } from "./request-counts.ts";
import type { Disturbance, Fault } from "./request-faults.ts";
import {
  carriesKey,
  type HttpAnswer,
  type HttpReply,
  jsonAnswer,
  type RequestBody,
  type UserGroupApi,
} from "./user-group-api.ts";

/** The body of `GET /sandbox/groups`: all groups, in the order in which they were created. */
export interface GroupsReport {
  readonly groups: readonly (StoredGroup & { readonly team_id: number })[];
}

interface Routed {
  readonly api: UserGroupApi;
  readonly groups: Groups;
  readonly counts: RequestCounts;
  readonly apiKey: string;
  readonly teamId: number;
  readonly nextDisturbance: () => Disturbance;
  /** Aborts when the sandbox closes. Requests that are still delayed are dropped then. */
  readonly closed: AbortSignal;
}

const MAX_BODY_BYTES = 1024 * 1024;

/** Passes requests to `/api/user` to the API, with delays and faults, and serves the pages under `/sandbox`. */
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
  { api, counts, nextDisturbance, closed }: Routed,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method = "", headers } = request;
  counts.begin(request.socket);

  const answer = (body: RequestBody, fault: Fault): void => {
    const reply = orInternalError(() =>
      api.reply(
        { method, authorization: headers.authorization, contentType: headers["content-type"], body },
        fault,
        Date.now(),
      ),
    );
    switch (reply.kind) {
      case "answer":
        counts.end(method, reply.status);
        send(response, reply);
        return;
      case "cut":
        counts.end(method, "cut");
        request.socket.destroy();
        return;
      case "hang":
        response.once("close", () => counts.end(method, "abandoned"));
        return;
      default:
        reply satisfies never;
    }
  };

  const received = (body: RequestBody): void => {
    const id = api.groupIn(body);
    if (id !== undefined) counts.names(method, id);
    const { delay, fault } = nextDisturbance();
    const refusal = api.tooManyAtOnce();
    if (refusal) {
      counts.end(method, refusal.status);
      send(response, refusal);
      return;
    }
    if (delay === 0) answer(body, fault);
    else setTimeout(() => closed.aborted || answer(body, fault), delay).unref();
  };

  readBody(request, received, () => counts.end(method, "abandoned"));
}

function page({ groups, counts, apiKey, teamId }: Routed, request: IncomingMessage, path = ""): HttpAnswer {
  if (`${request.method} ${path}` === "GET /sandbox/dashboard") {
    const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
    return dashboard(groups.withToken(token));
  }
  if (path !== "/sandbox/groups" && path !== "/sandbox/requests") {
    return jsonAnswer(404, { success: 0, error: `there is nothing at ${path}` });
  }
  if (!carriesKey(request.headers.authorization, apiKey)) {
    return jsonAnswer(401, {
      success: 0,
      error: "these pages need the same Authorization header as /api/user",
    });
  }
  switch (`${request.method} ${path}`) {
    case "GET /sandbox/groups": {
      const held = [...groups.all()].map((group) => ({ ...group, team_id: teamId }));
      return jsonAnswer(200, { groups: held } satisfies GroupsReport);
    }
    case "GET /sandbox/requests":
      return jsonAnswer(200, counts.report() satisfies RequestReport);
    case "DELETE /sandbox/requests":
      counts.reset();
      return jsonAnswer(200, { success: 1 });
    default:
      return jsonAnswer(405, { success: 0, error: `${request.method} does not work on ${path}` });
  }
}

/** Reads a body. Beyond the limit it reads on and keeps nothing, because the client reads the answer only then. */
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

/** If the state file can't be written, the request fails, and the sandbox goes on. */
function orInternalError(reply: () => HttpReply): HttpReply {
  try {
    return reply();
  } catch (error) {
    return jsonAnswer(500, { success: 0, error: describe(error) });
  }
}

function send(response: ServerResponse, reply: HttpAnswer): void {
  const content = Buffer.from(reply.body);
  response.writeHead(reply.status, { ...reply.headers, "content-length": content.length });
  response.end(content);
}
