import { describe } from "vitest";
import { removedRowsContract } from "../contracts/removed-rows.ts";
import { waitingRowsContract } from "../contracts/waiting-rows.ts";
import { InMemoryTenantSource } from "./tenant-source.ts";

describe("the in-memory tenant source counts a row as removed", () => {
  removedRowsContract(async (rows) => {
    const records = rows.map(({ id, state }) => ({ id, removed: state === "gone" }));
    return new InMemoryTenantSource(records, async () => {});
  });
});

describe("the in-memory tenant source counts a row as not ready", () => {
  waitingRowsContract(async (rows) => {
    const records = rows.map(({ id, state }) => ({ id, ready: state === "ready" }));
    return new InMemoryTenantSource(records, async () => {});
  });
});
