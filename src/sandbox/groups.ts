import * as z from "zod";
import type { Group } from "../core/group/group.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/text/json.ts";

/** A user group in the sandbox. */
export interface StoredGroup extends Group {
  readonly token: string;
}

/** How the service behaves in cases that the interface doesn't define. */
export interface GroupPolicy {
  /** What GET does with an existing group: return it as it is, or update it first. */
  readonly existing: "keep" | "update";
  /**
   * How DELETE finds the group. `token`: by `current_token`. `id`: by `user_group_id`.
   * `both`: by `user_group_id`, and `current_token` has to be its token. An unused field is ignored.
   */
  readonly deleteBy: "token" | "id" | "both";
}

export const API_METHODS = ["GET", "POST", "DELETE"] as const;
export type ApiMethod = (typeof API_METHODS)[number];

/** A change of the stored groups; also a line of the state file. */
export type GroupChange =
  | { readonly kind: "put"; readonly group: StoredGroup }
  | { readonly kind: "delete"; readonly user_group_id: string };

/** A deleted group, and the data source that the request named. */
export interface Deletion {
  readonly user_group_id: string;
  /** Null if the request named none. */
  readonly data_source_provided_id: string | null;
}

/** The result of a call. Its change is not made yet: the caller writes it to the state file first, then applies it. */
export type CallResult =
  | {
      readonly kind: "created" | "returned" | "rotated";
      readonly group: StoredGroup;
      readonly change?: GroupChange;
    }
  | { readonly kind: "deleted"; readonly change: GroupChange; readonly deletion: Deletion }
  | { readonly kind: "refused"; readonly status: 400 | 404; readonly reason: string };

const groupFields = {
  user_group_id: z.string().min(1),
  name: z.string(),
  mapping: z.record(z.string(), z.string()),
  properties: z.custom<JsonObject>((value) => isJsonObject(value as Json), "expected an object"),
};
const getBody = z.object(groupFields);
const postBody = z.object({ current_token: z.string() });
const deleteBody = z.object({
  current_token: z.string(),
  user_group_id: z.string(),
  data_source_provided_id: z.string().optional(),
});
const deleteBodies = {
  token: deleteBody.omit({ user_group_id: true }),
  id: deleteBody.omit({ current_token: true }),
  both: deleteBody,
};

/** Checks a {@link GroupChange} that was read from a file. */
export const groupChangeSchema: z.ZodType<GroupChange> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("put"), group: z.object({ ...groupFields, token: z.string() }) }),
  z.object({ kind: z.literal("delete"), user_group_id: z.string() }),
]);

/** The stored groups, by id and by token. */
export class Groups {
  readonly #byId = new Map<string, StoredGroup>();
  readonly #byToken = new Map<string, StoredGroup>();

  apply(change: GroupChange): void {
    const id = change.kind === "put" ? change.group.user_group_id : change.user_group_id;
    const before = this.#byId.get(id);
    if (before) this.#byToken.delete(before.token);
    if (change.kind === "delete") {
      this.#byId.delete(id);
      return;
    }
    this.#byId.set(id, change.group);
    this.#byToken.set(change.group.token, change.group);
  }

  withId(id: string): StoredGroup | undefined {
    return this.#byId.get(id);
  }

  withToken(token: string): StoredGroup | undefined {
    return this.#byToken.get(token);
  }

  /** In the order of creation. */
  all(): Iterable<StoredGroup> {
    return this.#byId.values();
  }

  get size(): number {
    return this.#byId.size;
  }
}

/** The id of the group that a body names by id or by token. Undefined if the body names no group. */
export function groupIdOf(groups: Groups, body: Json | undefined): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const { user_group_id: id, current_token: token } = body;
  if (typeof id === "string") return id;
  return typeof token === "string" ? groups.withToken(token)?.user_group_id : undefined;
}

/** The result of a call, by the rules of the service. Changes nothing; {@link Groups.apply} does. */
export function resultOfCall(
  groups: Groups,
  policy: GroupPolicy,
  operation: ApiMethod,
  body: Json,
  newToken: () => string,
): CallResult {
  switch (operation) {
    case "GET":
      return getOrCreate(groups, policy, body, newToken);
    case "POST":
      return rotate(groups, body, newToken);
    case "DELETE":
      return remove(groups, policy, body);
    default:
      return operation satisfies never;
  }
}

function getOrCreate(groups: Groups, policy: GroupPolicy, body: Json, newToken: () => string): CallResult {
  const sent = getBody.safeParse(body);
  if (!sent.success) return badRequest(sent.error);
  const held = groups.withId(sent.data.user_group_id);
  if (!held) {
    const group = { ...sent.data, token: newToken() };
    return { kind: "created", group, change: { kind: "put", group } };
  }
  if (policy.existing === "keep") return { kind: "returned", group: held };
  const group = { ...sent.data, token: held.token };
  return { kind: "returned", group, change: { kind: "put", group } };
}

function rotate(groups: Groups, body: Json, newToken: () => string): CallResult {
  const sent = postBody.safeParse(body);
  if (!sent.success) return badRequest(sent.error);
  const held = groups.withToken(sent.data.current_token);
  if (!held) return notFound("no user group has this current_token");
  const group = { ...held, token: newToken() };
  return { kind: "rotated", group, change: { kind: "put", group } };
}

function remove(groups: Groups, policy: GroupPolicy, body: Json): CallResult {
  const sent = deleteBodies[policy.deleteBy].safeParse(body);
  if (!sent.success) return badRequest(sent.error);
  const { current_token: token, user_group_id: id }: Partial<z.infer<typeof deleteBody>> = sent.data;
  const held = id === undefined ? groups.withToken(token ?? "") : groups.withId(id);
  if (!held || (token !== undefined && token !== held.token)) {
    const fields = {
      token: "current_token",
      id: "user_group_id",
      both: "user_group_id with this current_token",
    };
    return notFound(`no user group has this ${fields[policy.deleteBy]}`);
  }
  const { user_group_id } = held;
  const { data_source_provided_id = null } = sent.data;
  return {
    kind: "deleted",
    change: { kind: "delete", user_group_id },
    deletion: { user_group_id, data_source_provided_id },
  };
}

function badRequest(error: z.ZodError): CallResult {
  const problems = error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`);
  return { kind: "refused", status: 400, reason: problems.join("; ") };
}

const notFound = (reason: string): CallResult => ({ kind: "refused", status: 404, reason });
