import { NO_READ_HISTORY } from "../../../src/core/plan/read-history.ts";
import { FORGET } from "../../../src/core/report/health.ts";
import type { SchemaReads, SchemaWrites } from "../../../src/ports/ledger/ledger.ts";
import type { CommittedLedger, LedgerChanges } from "./ledger-changes.ts";
import { NO_SERVICE } from "./ledger-state.ts";

/** The only scope that a ledger in memory has. */
export const SCOPE = "default";

export const schemaReads = ({ state, step }: CommittedLedger): SchemaReads => ({
  async inspect(): Promise<void> {
    await step({ when: "before", call: "inspectLedger" });
  },
  async id(): Promise<string | null> {
    await step({ when: "before", call: "ledgerId" });
    return state.id;
  },
  async ownTables(): Promise<string> {
    await step({ when: "before", call: "ownTables" });
    return "memory.groupsync_*";
  },
  async scopes(): Promise<readonly string[]> {
    await step({ when: "before", call: "scopes" });
    const { rows, service, history, tokenDestinations, tokenTables, runs } = state;
    const isThere =
      rows.size > 0 ||
      service !== NO_SERVICE ||
      history !== NO_READ_HISTORY ||
      tokenDestinations !== null ||
      tokenTables.length > 0 ||
      runs.some(({ command }) => command !== FORGET);
    return isThere ? [SCOPE] : [];
  },
});

export const schemaWrites = (ledger: LedgerChanges): SchemaWrites => ({
  async forgetScope(): Promise<void> {
    await ledger.step({ when: "before", call: "forgetScope" });
    ledger.enlist(() => {
      const { state } = ledger;
      state.rows.clear();
      state.runs.splice(1);
      state.removals = [];
      state.formerTokens = [];
      state.tokenDestinations = null;
      state.tokensVerifiedAt = null;
      state.tokenTables = [];
      state.history = NO_READ_HISTORY;
      state.service = NO_SERVICE;
      state.canary = null;
      state.rejections = [];
      state.requests.clear();
    });
  },
});
