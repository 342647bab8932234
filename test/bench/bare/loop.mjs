import { groupOf, serviceOf } from "./ask.mjs";

/**
 * Asks a service for N groups, and stores nothing. Runs in its own process: it then starts as cold as the program that it
 * is compared with, and trusts the service's certificate in the same way, through NODE_EXTRA_CA_CERTS. Prints requests per
 * second. Usage: loop.mjs BASE_URL API_KEY REQUESTS CONCURRENCY kept|default
 */
const [baseUrl = "", apiKey = "", requests, concurrency, mode] = process.argv.slice(2);
const total = Number(requests);
const connections = Number(concurrency);

const startedAt = performance.now();
// undici's default closes the connection after every GET that has a body.
const service = serviceOf(baseUrl, apiKey, connections, mode === "kept" ? { reset: false } : {});
let next = 0;
await Promise.all(
  Array.from({ length: connections }, async () => {
    while (next < total) await service.ask(groupOf(next++));
  }),
);
console.log((total * 1000) / (performance.now() - startedAt));
await service.close();
