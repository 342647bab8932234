import { SyncError } from "./errors.ts";

/** Why a run that was told to stop did not reach its end. */
export const interrupted = (): SyncError =>
  new SyncError("INTERRUPTED", "the run was told to stop before it was done", {
    hint: "everything answered until then is recorded; the next sync goes on from there",
  });
