import { describe, expect, test } from "vitest";
import { readGetAnswer, readPostAnswer } from "../../../src/adapters/service/read-answer.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { anAnswer, aRequest, aUserGroup, failureOf, KEY, read, TOKEN } from "./an-answer.ts";

describe("a good answer", () => {
  test("to GET: the group, its token, and whether it is new", () => {
    expect(readGetAnswer(anAnswer(), aRequest())).toEqual({
      isNew: true,
      group: { teamId: 7, token: new Secret(TOKEN), name: "Acme" },
    });
    const { group } = readGetAnswer(anAnswer(), aRequest());
    expect(group.token.reveal()).toBe(TOKEN);
  });

  test("to POST: the group and its new token", () => {
    const body = JSON.stringify({ success: 1, user_group: aUserGroup() });
    const group = readPostAnswer(anAnswer({ body }), aRequest({ method: "POST" }));
    expect(group).toEqual({ teamId: 7, token: new Secret(TOKEN), name: "Acme" });
    expect(group.token.reveal()).toBe(TOKEN);
  });

  test("to DELETE: success is enough", () => {
    expect(read({ body: '{"success": 1}' }, { method: "DELETE" })).toEqual({ success: 1 });
  });

  test("may have fields that nobody knows", () => {
    const body = JSON.stringify({
      success: 1,
      new_user_group: false,
      user_group: aUserGroup({ is_demo_group: false, properties: null }),
      api_environment_tag: "production",
    });
    expect(read({ status: 201, body })).toMatchObject({ isNew: false });
  });
});

describe("an answer without a field that interface.md promises", () => {
  test.each([
    ["new_user_group", { new_user_group: "true" }],
    ["user_group", { user_group: undefined }],
    ["user_group", { user_group: [] }],
    ["user_group.token", { user_group: aUserGroup({ token: undefined }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\0b" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "half \ud800" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: " \u3000" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: `${TOKEN}\n` }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u0085b" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u202eb" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u200bb" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "\u2800" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\ufe0f" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "a\u2028b" }) }],
    ["user_group.token", { user_group: aUserGroup({ token: "x".repeat(8193) }) }],
    ["user_group.team_id", { user_group: aUserGroup({ team_id: "7" }) }],
    ["user_group.team_id", { user_group: aUserGroup({ team_id: 1.5 }) }],
    ["user_group.team_id", { user_group: aUserGroup({ team_id: 1e300 }) }],
    ["user_group.name", { user_group: aUserGroup({ name: null }) }],
    [
      "new_user_group, user_group.team_id, user_group.token, user_group.name, user_group.provided_id",
      { new_user_group: undefined, user_group: {} },
    ],
  ])("are insisted on: %s", (fields, overrides) => {
    const body = JSON.stringify({ success: 1, new_user_group: true, user_group: aUserGroup(), ...overrides });
    const failure = failureOf({ body });
    expect(failure.code).toBe("BAD_RESPONSE");
    expect(failure.message).toBe(`GET was answered HTTP 200 without a good ${fields}`);
  });

  test.each([
    "user_group",
    "user_group.token",
    "user_group.team_id",
    "user_group.name",
    "user_group.provided_id",
  ])("are insisted on in an answer to POST, and a token may have died: %s", (field) => {
    const [, member] = field.split(".");
    const user_group = member === undefined ? undefined : aUserGroup({ [member]: undefined });
    const body = JSON.stringify({ success: 1, user_group });
    const failure = failureOf({ body }, { method: "POST" });
    expect(failure).toMatchObject({ code: "BAD_RESPONSE", mayHaveHappened: true });
    expect(failure.message).toBe(`POST was answered HTTP 200 without a good ${field}`);
  });

  test("an answer about another group is a bad response", () => {
    const body = JSON.stringify({
      success: 1,
      new_user_group: true,
      user_group: aUserGroup({ provided_id: "globex" }),
    });
    for (const method of ["GET", "POST"] as const) {
      const failure = failureOf({ body }, { method });
      expect(failure.code).toBe("BAD_RESPONSE");
      expect(failure.message).toBe(`${method} was answered HTTP 200 about another user group`);
    }
  });

  test.each([KEY, ` ${KEY} `, `Token ${KEY}`])("the API key is no part of a group's token: %j", (token) => {
    const body = JSON.stringify({ success: 1, new_user_group: true, user_group: aUserGroup({ token }) });
    for (const method of ["GET", "POST"] as const) {
      const failure = failureOf({ body }, { method });
      expect(failure.code).toBe("BAD_RESPONSE");
      expect(failure.message).toBe(`${method} was answered HTTP 200 with the API key in the group's token`);
    }
  });
});
