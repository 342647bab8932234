import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { startTrial } from "../deploy/trial.ts";
import { until } from "../e2e/world.ts";
import { startChromium } from "../support/servers/chromium.ts";
import { anAccount, aVisitor } from "./visitor.ts";

const FOLDER = new URL("../../examples/application/", import.meta.url);
const sourceOf = (name: string): string => readFileSync(new URL(name, FOLDER), "utf8");

const browser = await startChromium();
afterAll(() => browser?.close());

/** The trial, once its first sync is over: the table of the tokens is there. */
async function aTrial(changed: Readonly<Record<string, string>> = {}) {
  const trial = await startTrial(changed);
  await until(() => trial.daemon.output().includes('"outcome":"ok"'));
  return trial;
}

test.skipIf(browser === null)("whoever signs up has a dashboard, and nobody sees the token", async () => {
  const { origin, shop } = await aTrial();
  const page = await browser!.newPage();
  onTestFinished(() => page.close());
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(origin);
  const signUp = page.locator("form", { hasText: "Sign up" });
  await signUp.getByPlaceholder("Company").fill("Fern & <b>Outdoor</b>");
  await signUp.getByPlaceholder("Email").fill("kim@fern.example");
  await signUp.getByPlaceholder("Password").fill("correct horse");
  await signUp.getByRole("button").click();
  const dashboard = page.frameLocator("iframe");
  await dashboard.getByRole("heading", { name: "Hello, Fern & <b>Outdoor</b>!" }).waitFor();
  await dashboard.getByText("eu-1").waitFor();
  expect(await page.getByRole("heading").allTextContents()).toEqual(["Fern & <b>Outdoor</b>"]);
  expect((await page.context().cookies()).map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
    { httpOnly: true, sameSite: "Lax" },
  ]);
  const { rows } = await shop.query("SELECT token FROM groupsync_tokens.tokens");
  const seen = (await Promise.all(page.frames().map((frame) => frame.content()))).join();
  expect(rows.filter(({ token }) => seen.includes(token))).toEqual([]);

  await page.getByRole("button", { name: "Log out" }).click();
  const logIn = page.locator("form", { hasText: "Log in" });
  await logIn.getByPlaceholder("Email").fill("Kim@Fern.example");
  await logIn.getByPlaceholder("Password").fill("correct horse");
  await logIn.getByRole("button").click();
  await dashboard.getByText("Hello, Fern & <b>Outdoor</b>!").waitFor();
  expect(complaints).toEqual([]);
});

test("each tenant gets its own dashboard, and nobody else any", async () => {
  // Stands between the application and the sandbox, and does what a rotation does beside a request.
  const gate = createServer(async (request, response) => {
    const { authorization = "" } = request.headers;
    asked.push(authorization);
    if (authorization === "Bearer dead") await store(replacement);
    const answer = await fetch(`${trial.service}${request.url}`, { headers: { authorization } });
    response.writeHead(answer.status).end(await answer.text());
  }).listen(0, "127.0.0.1");
  await once(gate, "listening");
  onTestFinished(() => void gate.close());
  const trial = await aTrial({
    DASHBOARDS_URL: `http://127.0.0.1:${(gate.address() as AddressInfo).port}`,
  });
  const { origin, shop, application } = trial;
  const asked: string[] = [];
  let replacement = "";
  const ofFern = "user_group_id = (SELECT id FROM customers WHERE company_name = 'Fern')";
  const store = (token: string) =>
    shop.query(`UPDATE groupsync_tokens.tokens SET token = $1 WHERE ${ofFern}`, [token]);

  // The session decides, and no parameter.
  const [fern, moss] = [aVisitor(origin), aVisitor(origin)];
  expect((await fern.ask("/dashboard")).status).toBe(401);
  expect((await fern.send("/sign-up", anAccount("Fern"))).status).toBe(303);
  expect((await moss.send("/sign-up", { ...anAccount("Moss"), id: "cus-1001" })).status).toBe(303);
  for (const path of ["/dashboard?id=cus-1001", "/dashboard/cus-1001"])
    expect(await moss.text(path)).not.toContain("Alderbrook");
  expect(await moss.text("/dashboard")).toContain("Hello, Moss!");
  for (const path of ["/", "/dashboard", "/nothing"]) {
    const { headers } = await fern.ask(path);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none';.*frame-ancestors 'self'/);
  }

  // Strangers.
  const stranger = aVisitor(origin);
  expect((await stranger.send("/sign-up", anAccount("Fern"))).status).toBe(409);
  for (const form of [{ ...anAccount("Elm"), password: "short" }, { ...anAccount("Elm"), company: " " }, {}])
    expect((await stranger.send("/sign-up", form)).status).toBe(422);
  for (const form of [{ ...anAccount("Fern"), password: "wrong horse" }, anAccount("Nobody"), {}])
    expect((await stranger.send("/log-in", form)).status).toBe(401);
  expect((await fern.send("/log-out", {}, "https://other.example")).status).toBe(403);
  expect(await fern.text("/dashboard")).toContain("Hello, Fern!");

  // A tenant that is gone.
  await shop.query("UPDATE customers SET status = 'cancelled' WHERE company_name = 'Moss'");
  for (const path of ["/dashboard", "/"]) expect((await moss.ask(path)).status).toBe(401);
  expect((await moss.send("/log-in", anAccount("Moss"))).status).toBe(401);

  // A token that is refused is read again, and sent once more.
  replacement = (await shop.query(`SELECT token FROM groupsync_tokens.tokens WHERE ${ofFern}`)).rows[0].token;
  asked.length = 0;
  await store("dead");
  expect(await fern.text("/dashboard")).toContain("Hello, Fern!");
  expect(asked).toEqual(["Bearer dead", `Bearer ${replacement}`]);
  replacement = "dead";
  await store("dead");
  expect((await fern.ask("/dashboard")).status).toBe(500);
  expect(asked).toHaveLength(4);
  await store("");
  expect(await fern.text("/dashboard")).toContain("being prepared");

  expect((await fern.send("/log-out", {})).status).toBe(303);
  expect((await fern.ask("/dashboard")).status).toBe(401);
  expect(application.output()).toMatch(/of tenant \S+: 200\n/);
  expect(application.output()).not.toMatch(/trial-sync-key|Bearer|dead/);
});

test("it listens to this machine alone, is short, and needs pg beside Node.js, of groupsync's version", () => {
  const source = sourceOf("server.js");
  expect(source).toContain('LISTEN_HOST = "127.0.0.1"');
  expect(source.split("\n").length).toBeLessThanOrEqual(150);
  const imported = [...source.matchAll(/from "([^"]+)"/g)].map(([, name = ""]) => name);
  expect(imported.filter((name) => !name.startsWith("node:"))).toEqual(["pg"]);
  const own = JSON.parse(readFileSync(new URL("../../package.json", FOLDER), "utf8"));
  expect(JSON.parse(sourceOf("package.json")).dependencies).toEqual({ pg: own.dependencies.pg });
});
