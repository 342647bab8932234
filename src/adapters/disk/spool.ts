import { randomUUID } from "node:crypto";
import { closeSync, openSync, read, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { promisify } from "node:util";
import { describe, SyncError } from "../../core/failure/sync-error.ts";
import type { Spool } from "../../ports/spool.ts";

const readAt = promisify(read);

/** How many items are kept in memory before they go to a file. */
const IN_MEMORY = 10_000;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Keeps a short list in memory and a long one in a temporary file, as lines of JSON. The file loses its name as soon as
 * it is open, and so no file is left behind, however the process ends.
 */
export class DiskSpool<T> implements Spool<T> {
  length = 0;
  #items: T[] = [];
  #file: number | undefined;

  append(item: T): void {
    this.#items.push(item);
    this.length++;
    if (this.#items.length > IN_MEMORY) this.#spill();
  }

  async *read(): AsyncGenerator<readonly T[]> {
    if (this.#file !== undefined) {
      if (this.#items.length > 0) this.#spill();
      yield* this.#readFile(this.#file);
    } else if (this.#items.length > 0) {
      yield this.#items;
    }
  }

  close(): void {
    this.#items = [];
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #spill(): void {
    try {
      this.#file ??= openNameless();
      const lines = Buffer.from(this.#items.map((item) => `${JSON.stringify(item)}\n`).join(""));
      for (let written = 0; written < lines.length; ) written += writeSync(this.#file, lines, written);
      this.#items = [];
    } catch (error) {
      throw new SyncError(
        "NO_TEMPORARY_SPACE",
        `cannot write a large plan to ${tmpdir()}: ${describe(error)}`,
        {
          hint: "give it some space, or name another folder in the environment variable TMPDIR",
          cause: error,
        },
      );
    }
  }

  async *#readFile(file: number): AsyncGenerator<readonly T[]> {
    const decoder = new StringDecoder();
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let rest = "";
    for (let position = 0; ; ) {
      const { bytesRead } = await readAt(file, buffer, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split("\n");
      rest = lines.pop() ?? "";
      if (lines.length > 0) yield lines.map((line) => JSON.parse(line) as T);
    }
  }
}

function openNameless(): number {
  const path = join(tmpdir(), `groupsync-plan-${randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}
