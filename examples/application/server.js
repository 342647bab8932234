// A small application whose customers see dashboards. README.md beside this file says how it works.
import { randomBytes, randomUUID, scrypt, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";

const { LISTEN_HOST = "127.0.0.1", PORT = "3000", ORIGIN = `http://127.0.0.1:${PORT}` } = process.env;
const { DATABASE_URL, DASHBOARDS_URL, GROUPSYNC_URL, GROUPSYNC_SYNC_KEY } = process.env;
const database = new pg.Pool({ connectionString: DATABASE_URL });
database.on("error", (error) => console.error("lost a connection to the database:", error.message));

/** Session id → tenant id. Nothing else says whose dashboard a browser gets: no address, no parameter, no form. */
const sessions = new Map();

/** Markup. Each value in it is escaped, unless it is markup itself. */
const html = (parts, ...values) => ({ markup: String.raw({ raw: parts }, ...values.map(escaped)) });
const escaped = (value) => value.markup ?? value.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

const STYLE = html`body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }
form { display: grid; gap: .5rem; max-width: 20rem } iframe { width: 100%; height: 22rem; border: 1px solid #ccc }`;
const ACCOUNT = html`<input name="email" type="email" placeholder="Email" required>
<input name="password" type="password" placeholder="Password" minlength="8" required>`;
const FORMS = html`<form method="post" action="/sign-up"><h2>Sign up</h2>
<input name="company" placeholder="Company" required>${ACCOUNT}<button>Sign up</button></form>
<form method="post" action="/log-in"><h2>Log in</h2>${ACCOUNT}<button>Log in</button></form>`;
const SHOWN = html`<iframe src="/dashboard" title="Dashboard"></iframe>
<p>groupsync made your group when you signed up, and stored its token. This application has read the token.</p>
<form method="post" action="/log-out"><button>Log out</button></form>`;
const HOME = html`<a href="/" target="_top">Go to the first page</a>`;

function page(status, title, content, headers = {}) {
  const { markup } = html`<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${STYLE}</style><h1>${title}</h1>${content}`;
  return { status, headers, body: markup };
}

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'",
  "content-type": "text/html; charset=utf-8",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

createServer(async (request, response) => {
  const { status, headers, body } = await answer(request).catch((error) => {
    console.error("a request failed:", error.code ?? error.cause?.code ?? error.name);
    return page(500, "Something went wrong", "Please try again later.");
  });
  response.writeHead(status, { ...HEADERS, ...headers }).end(body);
}).listen(Number(PORT), LISTEN_HOST, () => console.log(`The application: ${ORIGIN}/`));

async function answer(request) {
  const session = /(?:^|; )session=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];
  // A form of another site must not act for the user who is logged in here.
  if (request.method === "POST" && request.headers.origin !== ORIGIN)
    return page(403, "This form is from another site", `Open ${ORIGIN}/ instead.`);
  const route = `${request.method} ${request.url}`;
  if (route === "POST /sign-up") return signUp(await formOf(request));
  if (route === "POST /log-in") return logIn(await formOf(request));
  if (route === "POST /log-out") return logOut(session);
  if (route === "GET /" && !sessions.has(session)) return page(200, "Welcome", FORMS);
  const tenant = await tenantOf(session);
  if (tenant === undefined) return page(401, "You are not logged in", HOME);
  if (route === "GET /") return page(200, tenant.name, SHOWN);
  if (route === "GET /dashboard") return dashboard(tenant, session);
  return page(404, "There is no such page", HOME);
}

/** The tenant with its token. Undefined without a session, and also if the tenant is gone, whose token outlives it. */
async function tenantOf(session) {
  const sql = `SELECT id, company_name AS name, token
    FROM customers LEFT JOIN groupsync_tokens.tokens ON user_group_id = id WHERE id = $1 AND status = 'active'`;
  return (await database.query(sql, [sessions.get(session)])).rows[0];
}

/** What the iframe of the home page shows. The token stays on this server. */
async function dashboard({ id, token }, session) {
  if (!token) return page(200, "Your dashboard is being prepared …", "", { refresh: "2" });
  let shown = await openDashboard(token);
  if (shown.status === 401) {
    // The token may have been replaced a moment ago. Read it again and retry once, never in a loop.
    await sleep(1000);
    shown = await openDashboard((await tenantOf(session))?.token ?? "");
  }
  if (!shown.ok) throw new Error(`the dashboard of tenant ${id} was refused with HTTP ${shown.status}`);
  return { status: 200, body: await shown.text() };
}

/** How the sandbox takes a token. Your service has its own way: its documentation of embedding says which. */
const openDashboard = (token) =>
  fetch(`${DASHBOARDS_URL}/sandbox/dashboard`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(10_000),
  });

async function signUp({ company = "", email = "", password = "" }) {
  if (!company.trim() || !email.includes("@") || password.length < 8)
    return page(422, "Fill in all fields. A password has at least 8 characters.", FORMS);
  const [id, salt] = [randomUUID(), randomBytes(16)];
  const sql = `WITH account AS (INSERT INTO users (email, salt, hash, customer_id) VALUES (lower($1), $2, $3, $4)
      ON CONFLICT (email) DO NOTHING RETURNING customer_id)
    INSERT INTO customers (id, company_name) SELECT customer_id, $5 FROM account`;
  const values = [email, salt, await hashOf(password, salt), id, company.trim()];
  const { rowCount } = await database.query(sql, values);
  if (rowCount === 0) return page(409, "This address has an account already", FORMS);
  // The row is committed: have groupsync make its group now. If this fails, the next full sync makes it.
  const reply = await fetch(`${GROUPSYNC_URL}/sync/${encodeURIComponent(id)}?wait=5s`, {
    method: "POST",
    headers: { authorization: `Bearer ${GROUPSYNC_SYNC_KEY}` },
    signal: AbortSignal.timeout(10_000),
  }).catch((error) => ({ status: error.name }));
  console.log(`Asked groupsync for the group of tenant ${id}: ${reply.status}`);
  return logInto(id);
}

async function logIn({ email = "", password = "" }) {
  const sql = `SELECT customer_id AS id, salt, hash FROM users JOIN customers ON id = customer_id
    WHERE email = lower($1) AND status = 'active'`;
  const { rows } = await database.query(sql, [email]);
  // Without an account this takes as long as with a wrong password, so that nobody learns who has one.
  const { id, salt, hash } = rows[0] ?? { salt: randomBytes(16), hash: randomBytes(32) };
  const isRight = timingSafeEqual(await hashOf(password, salt), hash);
  return isRight ? logInto(id) : page(401, "Wrong address or password", FORMS);
}

const hashOf = (password, salt) => promisify(scrypt)(password, salt, 32, { N: 2 ** 14, r: 8, p: 5 });

function logInto(tenantId) {
  const session = randomBytes(32).toString("base64url");
  sessions.set(session, tenantId);
  setTimeout(() => sessions.delete(session), 8 * 60 * 60 * 1000).unref();
  const secure = ORIGIN.startsWith("https:") ? "; Secure" : "";
  const cookie = `session=${session}; Path=/; HttpOnly; SameSite=Lax${secure}`;
  return { status: 303, headers: { location: "/", "set-cookie": cookie } };
}

function logOut(session) {
  sessions.delete(session);
  return { status: 303, headers: { location: "/" } };
}

async function formOf(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) if (text.length < 10_000) text += chunk;
  return Object.fromEntries(new URLSearchParams(text));
}
