import { HttpGroupService } from "../../../src/adapters/service/http-group-service.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { aGroup } from "../../builders/groups.ts";

/** Makes so many calls at once, in a process of its own: `calls.ts BASE_URL API_KEY CALLS CONCURRENCY` */
const [baseUrl = "", apiKey = "", calls, concurrency] = process.argv.slice(2);
const service = new HttpGroupService({
  baseUrl,
  apiKey: new Secret(apiKey),
  timeoutMs: 30_000,
  concurrency: Number(concurrency),
});
await Promise.all(
  Array.from({ length: Number(calls) }, (_, index) =>
    service.getOrCreate(aGroup({ user_group_id: `t-${index}` })),
  ),
);
await service.close();
