import { createLogger } from "../../../src/adapters/log/logger.ts";
import { runLog } from "../../../src/adapters/log/run-log.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { aClock } from "../../fakes/set-clock.ts";

/** Logs a little of everything, in a process of its own: `lines.ts terminal|file` */
const logger = await createLogger("debug", process.argv[2] === "terminal");
const observe = runLog(logger, aClock());
observe({ kind: "started", run: "17" });
observe({ kind: "warning", code: "LEDGER_EMPTY", message: "the ledger is empty", hint: "check ledger.url" });
const evil = "a\u001b[2J\u001b]0;title\u0007\r\n\u009b31m\u202eb";
observe({ kind: "failed", user_group_id: evil, code: "REFUSED", message: `it said ${evil}` });
observe({
  kind: "finished",
  command: "sync",
  outcome: "ok",
  counts: { ...noCounts(), unchanged: 7 },
  requests: 0,
  durationMs: 20,
  error: null,
});
logger.error({ key: new Secret("hunter2"), [evil]: [evil, { deep: evil }] }, "with a secret");
process.kill(process.pid, "SIGKILL");
