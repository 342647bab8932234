import { closeSync, openSync, readSync } from "node:fs";

/** Far more than any config or secret: a larger file is the wrong file, or a device without an end. */
const MOST_BYTES = 1024 * 1024;
const CHUNK = 64 * 1024;

/** In the form of an error of the operating system. */
class TooBig extends Error {
  readonly code = "EFBIG";

  constructor(path: string) {
    super(`EFBIG: more than 1 MiB, read '${path}'`);
  }
}

/** Reads a whole file as text. Throws the error of the operating system, or EFBIG if the file has more than 1 MiB. */
export function readTextFile(path: string): string {
  const file = openSync(path, "r");
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for (;;) {
      const chunk = Buffer.alloc(CHUNK);
      const count = readSync(file, chunk);
      if (count === 0) return Buffer.concat(chunks).toString("utf8");
      size += count;
      if (size > MOST_BYTES) throw new TooBig(path);
      chunks.push(chunk.subarray(0, count));
    }
  } finally {
    closeSync(file);
  }
}
