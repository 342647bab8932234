import { connect } from "node:net";
import { expect, test } from "vitest";
import { aClient, aGroup, aSandbox } from "./client.ts";

test("counts requests by operation, status and group, connections, and the most requests in flight", async () => {
  const { client } = await aSandbox({ latency: { min: 200, max: 200 } }, 3);
  const [first] = await Promise.all(
    ["t-1", "t-2", "t-3"].map((id) => client.call("GET", aGroup({ user_group_id: id }))),
  );
  const { token } = first!.json.user_group;
  await client.call("POST", { current_token: token });
  await client.call("POST", { current_token: token });
  await client.call("DELETE", { user_group_id: "t-2", current_token: "wrong" });
  await client.call("GET", aGroup({ user_group_id: "t-3", name: null }));
  await client.call("PUT", {});
  expect((await client.page("/sandbox/requests")).json).toEqual({
    total: 8,
    refused: 0,
    by_operation: {
      GET: { "200": 3, "400": 1 },
      POST: { "200": 1, "404": 1 },
      DELETE: { "404": 1 },
      other: { "405": 1 },
    },
    by_group: {
      "t-1": { GET: 1, POST: 1, DELETE: 0 },
      "t-2": { GET: 1, POST: 0, DELETE: 1 },
      "t-3": { GET: 2, POST: 0, DELETE: 0 },
    },
    deletions: [],
    connections: 3,
    max_in_flight: 3,
  });
});

test("lists deleted groups, each with the data source that the request named", async () => {
  const { client } = await aSandbox();
  const remove = async (id: string, fields: Record<string, unknown>) => {
    const { token } = (await client.call("GET", aGroup({ user_group_id: id }))).json.user_group;
    return client.call("DELETE", { user_group_id: id, current_token: token, ...fields });
  };
  await remove("t-1", { data_source_provided_id: "acme-sales" });
  await remove("t-2", { current_token: "wrong", data_source_provided_id: "acme-sales" });
  await remove("t-3", {});
  expect((await client.page("/sandbox/requests")).json.deletions).toEqual([
    { user_group_id: "t-1", data_source_provided_id: "acme-sales" },
    { user_group_id: "t-3", data_source_provided_id: null },
  ]);
});

test("lists a deleted group even if the answer was cut off", async () => {
  const { client } = await aSandbox({ shares: { "cut-after": 1 } });
  await client.call("GET", aGroup()).catch(() => undefined);
  const [{ token }] = (await client.page("/sandbox/groups")).json.groups;
  await client.call("DELETE", { user_group_id: "t-1", current_token: token }).catch(() => undefined);
  const { text, json } = await client.page("/sandbox/requests");
  expect(json).toMatchObject({
    by_operation: { GET: { cut: 1 }, DELETE: { cut: 1 } },
    by_group: { "t-1": { GET: 1, DELETE: 1 } },
    deletions: [{ user_group_id: "t-1" }],
  });
  expect(text).not.toContain(token);
});

test("counts a request whose client gave up", async () => {
  const sandbox = await aSandbox({ poison: new Map([["t-1", "hang"]]) });
  const impatient = aClient(sandbox);
  const waiting = impatient.call("GET", aGroup()).catch(() => undefined);
  const report = async () => (await sandbox.client.page("/sandbox/requests")).json;
  await expect.poll(async () => (await report()).max_in_flight).toBe(1);
  expect((await report()).total).toBe(0);
  await impatient.destroy();
  await waiting;
  await expect.poll(async () => (await report()).by_operation.GET).toEqual({ abandoned: 1 });
});

test("carries out a request whose client leaves during the latency, and counts it once", async () => {
  const sandbox = await aSandbox({ latency: { min: 200, max: 200 } });
  const impatient = aClient(sandbox);
  const waiting = impatient.call("GET", aGroup()).catch(() => "gone");
  const report = async () => (await sandbox.client.page("/sandbox/requests")).json;
  await expect.poll(async () => (await report()).by_group, { interval: 5 }).toHaveProperty("t-1");
  await impatient.destroy();
  expect(await waiting).toBe("gone");
  await expect.poll(async () => (await report()).by_operation.GET).toEqual({ "200": 1 });
  expect((await sandbox.client.page("/sandbox/groups")).json.groups).toHaveLength(1);
});

test("counts a request whose body breaks off", async () => {
  const { baseUrl, client } = await aSandbox();
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write("GET /api/user HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  const report = async () => (await client.page("/sandbox/requests")).json;
  await expect.poll(async () => (await report()).max_in_flight).toBe(1);
  socket.destroy();
  await expect.poll(async () => (await report()).by_operation.GET).toEqual({ abandoned: 1 });
});

test("DELETE resets the counts, and requests to the sandbox's own pages are not counted", async () => {
  const { client } = await aSandbox({ deleteBy: "id" }, 1);
  await client.call("GET", aGroup());
  await client.call("DELETE", { user_group_id: "t-1" });
  expect((await client.page("/sandbox/requests", "DELETE")).json).toEqual({ success: 1 });
  const none = { GET: {}, POST: {}, DELETE: {}, other: {} };
  expect((await client.page("/sandbox/requests")).json).toEqual({
    total: 0,
    refused: 0,
    by_operation: none,
    by_group: {},
    deletions: [],
    connections: 0,
    max_in_flight: 0,
  });
  await client.call("GET", aGroup());
  expect((await client.page("/sandbox/requests")).json).toMatchObject({ total: 1, connections: 1 });
});

test.each([
  ["/sandbox/groups", "GET"],
  ["/sandbox/requests", "GET"],
  ["/sandbox/requests", "DELETE"],
])("%s (%s) requires the API key", async (path, method) => {
  const { client } = await aSandbox();
  const { status, text } = await client.page(path, method, { authorization: "Token other" });
  expect(status).toBe(401);
  expect(text).not.toContain("sandbox_");
  expect((await client.page("/sandbox/groups", "POST")).status).toBe(405);
});

test("the dashboard greets the group of the token alone, with its text escaped", async () => {
  const { client } = await aSandbox();
  const group = aGroup({ name: "<b>Cedar & Sons", properties: { plan: "gold", seats: 12 } });
  const { token } = (await client.call("GET", group)).json.user_group;
  const { status, text, headers } = await client.page("/sandbox/dashboard", "GET", {
    authorization: `Bearer ${token}`,
  });
  expect(status).toBe(200);
  expect(text).toContain("<h1>Hello, &lt;b&gt;Cedar &amp; Sons!</h1>");
  expect(text).toContain("<dt>Data of schema 40</dt><dd>acme-sales</dd>");
  expect(text).toContain("<dt>seats</dt><dd>12</dd>");
  expect(text).not.toContain(token);
  expect(headers["cache-control"]).toBe("no-store");

  await client.call("POST", { current_token: token });
  for (const authorization of [`Bearer ${token}`, "Bearer ", "Token x"])
    expect((await client.page("/sandbox/dashboard", "GET", { authorization })).status).toBe(401);
});
