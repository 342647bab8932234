import { describe } from "vitest";
import { statedRowsContract } from "../contracts/stated-rows.ts";
import { InMemoryTenantSource } from "./tenant-source.ts";

describe("the in-memory tenant source", () => {
  statedRowsContract(async (rows, conditions) => {
    const records = rows.map(({ id, state }) => ({
      id,
      ...("removedWhen" in conditions ? { removed: state === "gone" } : { ready: state === "ready" }),
    }));
    return new InMemoryTenantSource(records, async () => {});
  });
});
