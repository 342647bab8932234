import { expect, test } from "vitest";
import { pageText } from "../support/pages.ts";
import { aSandbox } from "./client.ts";

/** `GET /api/user {…}`, and in the next line `→ {…}`. */
const CALL = /^(GET|POST|DELETE) \/api\/user (\{.*\})\n→ (\{.*\})$/gm;

test("the sandbox answers as README.md says", async () => {
  const calls = [...pageText("README.md").matchAll(CALL)];
  expect(calls.map(([, method]) => method)).toEqual(["GET", "POST", "DELETE"]);
  const { client } = await aSandbox();
  let token = "";
  for (const [, method = "", body = "", answer = ""] of calls) {
    const { json } = await client.call(method, JSON.parse(body.replace("…", token)));
    token = json.user_group?.token ?? token;
    expect(json).toEqual(JSON.parse(answer.replace("…", token)));
  }
});
