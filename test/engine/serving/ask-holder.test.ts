import { describe, expect, it } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { askHolder } from "../../../src/engine/serving/ask-holder.ts";

const HOLDER = "another instance is at work: host-a pid 1";

/** An instance without the lease asks for a tenant. */
const ask = (putRequest: () => Promise<string>, id = "acme") =>
  askHolder(id, { ledger: { putRequest }, requester: "this", holder: HOLDER });

describe("an instance that doesn't hold the lease", () => {
  it("says pending once its request is committed", async () => {
    expect(await ask(async () => "request 1")).toEqual({ kind: "pending" });
  });

  it("names the holder if the request can't be committed", async () => {
    const away = async () => {
      throw new SyncError("LEDGER_UNAVAILABLE", "cannot write the ledger: no route");
    };
    expect(await ask(away)).toEqual({
      kind: "failed",
      code: "LEDGER_UNAVAILABLE",
      message: expect.stringMatching(`can't ask the one that does: .* no route; ${HOLDER}`),
    });
  });

  it("fails if the ledger has no tables yet", async () => {
    expect(await ask(async () => "")).toMatchObject({ kind: "failed", code: "LEDGER_UNAVAILABLE" });
  });

  it("asks for no id that a row can't have", async () => {
    expect(await ask(async () => "request 1", "a\u0000b")).toEqual({ kind: "unknown" });
  });
});
