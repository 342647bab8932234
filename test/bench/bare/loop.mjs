import { Pool } from "undici";

/**
 * Asks a service for N groups as fast as undici can, reads the answers and stores nothing. Runs in its own process: it
 * then starts as cold as the program that it is compared with, and trusts the service's certificate in the same way,
 * through NODE_EXTRA_CA_CERTS. Prints requests per second. Usage: loop.mjs BASE_URL API_KEY REQUESTS CONCURRENCY
 * kept|default
 */
const [baseUrl = "", apiKey = "", requests, concurrency, mode] = process.argv.slice(2);
const total = Number(requests);
const connections = Number(concurrency);
// undici's default closes the connection after every GET that has a body.
const options = mode === "kept" ? { reset: false } : {};

const startedAt = performance.now();
const pool = new Pool(baseUrl, { connections });
const headers = { authorization: `Token ${apiKey}`, "content-type": "application/json" };
let next = 0;
await Promise.all(
  Array.from({ length: connections }, async () => {
    while (next < total) {
      const i = next++;
      const body = JSON.stringify({
        user_group_id: `tenant-${i}`,
        name: `Company ${i}`,
        mapping: { 40: `ds-${i}` },
        properties: { plan: "gold", seats: i },
      });
      const response = await pool.request({ method: "GET", path: "/api/user", headers, body, ...options });
      const answer = await response.body.json();
      if (answer.success !== 1) throw new Error("the sandbox refused a request");
    }
  }),
);
console.log((total * 1000) / (performance.now() - startedAt));
await pool.destroy();
