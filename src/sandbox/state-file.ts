import { appendFileSync, closeSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import * as z from "zod";
import { describe, SyncError } from "../core/failure/sync-error.ts";
import { type GroupChange, Groups, groupChangeSchema } from "./groups.ts";

/*
 * The state file is a log of JSON lines: a header, then one change a line. It is replayed and compacted at
 * the start, and a change is in it before its answer is sent. Writes are not synced to the disk: they survive
 * the death of the process, which is all that a sandbox promises.
 */

export interface State {
  readonly apiKey: string;
  readonly groups: Groups;
}

export interface Journal {
  append(change: GroupChange): void;
  close(): void;
}

const header = z.object({ groupsync_sandbox: z.literal(1), api_key: z.string() });

/**
 * Replays a state file. Returns undefined if there is none yet, or an empty one.
 * Throws SyncError SANDBOX_STATE if the file can't be read or isn't a state file.
 */
export function readState(path: string): State | undefined {
  const text = readIfPresent(path);
  if (!text) return undefined;
  // Drop what follows the last newline: the process died while it wrote that line, so the request got no answer.
  const lines = text.split("\n").slice(0, -1);
  const groups = new Groups();
  let apiKey = "";
  for (const [index, line] of lines.entries()) {
    try {
      if (index === 0) apiKey = header.parse(JSON.parse(line)).api_key;
      else groups.apply(groupChangeSchema.parse(JSON.parse(line)));
    } catch (cause) {
      throw stateError(`${path} is no state of a sandbox (line ${index + 1})`, cause);
    }
  }
  if (lines.length === 0) throw stateError(`${path} is no state of a sandbox (it has no header)`);
  return { apiKey, groups };
}

/** Replaces the file in one rename by one with the present groups, and keeps it open for further changes. */
export function openJournal(path: string, state: State): Journal {
  try {
    const fresh = `${path}.tmp`;
    // Remove what a crash left there. Somebody may also have put a link there, which would lead to another file.
    rmSync(fresh, { force: true });
    const file = openSync(fresh, "wx", 0o600);
    const write = (line: unknown): void => appendFileSync(file, `${JSON.stringify(line)}\n`);
    write({ groupsync_sandbox: 1, api_key: state.apiKey } satisfies z.infer<typeof header>);
    for (const group of state.groups.all()) write({ kind: "put", group } satisfies GroupChange);
    renameSync(fresh, path);
    return { append: write, close: () => closeSync(file) };
  } catch (cause) {
    throw stateError(`cannot write ${path}: ${describe(cause)}`, cause);
  }
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw stateError(`cannot read ${path}: ${describe(cause)}`, cause);
  }
}

const stateError = (message: string, cause?: unknown): SyncError =>
  new SyncError("SANDBOX_STATE", message, { hint: "name another --state file", cause });
