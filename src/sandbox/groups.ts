import { z } from "zod";
import type { Group } from "../core/group.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";

/** A user group as the sandbox holds it. */
export interface HeldGroup extends Group {
  readonly token: string;
}

/** How the service settles what its interface leaves open. */
export interface GroupPolicy {
  /** What GET does with a group that exists: return it as it is, or bring it up to date first. */
  readonly existing: "keep" | "update";
  /**
   * What DELETE goes by. `token`: `current_token` names the group. `id`: `user_group_id` names it.
   * `both`: `user_group_id` names it and `current_token` has to be its token. The field that isn't gone by
   * is ignored.
   */
  readonly deleteBy: "token" | "id" | "both";
}

export const OPERATIONS = ["GET", "POST", "DELETE"] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The one way in which what is held changes; also a line of the state file. */
export type Change =
  | { readonly kind: "put"; readonly group: HeldGroup }
  | { readonly kind: "delete"; readonly user_group_id: string };

/** A group that was deleted, and the data source that the request named. */
export interface Deletion {
  readonly user_group_id: string;
  /** Null where it named none. */
  readonly data_source_provided_id: string | null;
}

/** What a call comes to. Its change is not made yet: it is written down first, then applied. */
export type Outcome =
  | { readonly kind: "created" | "returned" | "rotated"; readonly group: HeldGroup; readonly change?: Change }
  | { readonly kind: "deleted"; readonly change: Change; readonly deletion: Deletion }
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

/** The shape of a {@link Change} that comes from a file. */
export const changeSchema: z.ZodType<Change> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("put"), group: z.object({ ...groupFields, token: z.string() }) }),
  z.object({ kind: z.literal("delete"), user_group_id: z.string() }),
]);

/** What the service holds, found by id and by token. */
export class Groups {
  readonly #byId = new Map<string, HeldGroup>();
  readonly #byToken = new Map<string, HeldGroup>();

  apply(change: Change): void {
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

  withId(id: string): HeldGroup | undefined {
    return this.#byId.get(id);
  }

  withToken(token: string): HeldGroup | undefined {
    return this.#byToken.get(token);
  }

  /** In the order in which they were created. */
  all(): Iterable<HeldGroup> {
    return this.#byId.values();
  }

  get size(): number {
    return this.#byId.size;
  }
}

/** The id of the group that a body speaks of, by itself or through a token; undefined where it names none. */
export function groupIdOf(groups: Groups, body: Json | undefined): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const { user_group_id: id, current_token: token } = body;
  if (typeof id === "string") return id;
  return typeof token === "string" ? groups.withToken(token)?.user_group_id : undefined;
}

/** What a call comes to, by the rules of the service. Changes nothing: that is left to {@link Groups.apply}. */
export function decide(
  groups: Groups,
  policy: GroupPolicy,
  operation: Operation,
  body: Json,
  newToken: () => string,
): Outcome {
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

function getOrCreate(groups: Groups, policy: GroupPolicy, body: Json, newToken: () => string): Outcome {
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

function rotate(groups: Groups, body: Json, newToken: () => string): Outcome {
  const sent = postBody.safeParse(body);
  if (!sent.success) return badRequest(sent.error);
  const held = groups.withToken(sent.data.current_token);
  if (!held) return notFound("no user group has this current_token");
  const group = { ...held, token: newToken() };
  return { kind: "rotated", group, change: { kind: "put", group } };
}

function remove(groups: Groups, policy: GroupPolicy, body: Json): Outcome {
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

function badRequest(error: z.ZodError): Outcome {
  const problems = error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`);
  return { kind: "refused", status: 400, reason: problems.join("; ") };
}

const notFound = (reason: string): Outcome => ({ kind: "refused", status: 404, reason });
