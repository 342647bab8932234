import { expect, test } from "vitest";
import { servedReply } from "../../../src/daemon/sync-requests/served-reply.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";

const failure = { code: "VALUE_NULL", message: "column plan is null" };
const done = ["created", "adopted", "updated", "replaced", "restored", "unchanged"] as const;
const conflicts = ["rejected", "held", "waiting", "outdated"] as const;

/** The body is given without the id. */
const REPLIES: { served: Served; status: number; body: object; headers?: object }[] = [
  ...done.map((outcome) => ({ served: { kind: "done", outcome } as const, status: 200, body: { outcome } })),
  { served: { kind: "pending" }, status: 202, body: { outcome: "pending" } },
  {
    served: { kind: "unknown" },
    status: 404,
    body: { outcome: "unknown", message: expect.stringContaining("committed") },
  },
  ...conflicts.map((outcome) => ({
    served: { kind: "conflict", outcome, ...failure } as const,
    status: 409,
    body: { outcome, ...failure },
  })),
  {
    served: { kind: "failed", ...failure },
    status: 503,
    body: { outcome: "failed", ...failure },
    headers: { "retry-after": "5" },
  },
];

test.each(REPLIES)("the reply to $served has the status $status", ({ served, status, body, headers }) => {
  const reply = servedReply("a/b", served);
  expect(reply).toMatchObject({ status, contentType: "application/json" });
  expect(reply.headers).toEqual(headers ?? {});
  expect(JSON.parse(reply.body)).toEqual({ user_group_id: "a/b", ...body });
});

test("a reply shows invisible characters of an id, and stands for the same id", () => {
  const id = "a\u202eb\u200b\n🍕";
  const { body } = servedReply(id, { kind: "pending" });
  expect(body).toMatch(/^[ -~]*🍕[ -~]*\n$/u);
  expect(JSON.parse(body)).toMatchObject({ user_group_id: id });
});
