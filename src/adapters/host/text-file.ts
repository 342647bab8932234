import { closeSync, openSync, readSync } from "node:fs";

/** Far more than any config or secret: a larger file is the wrong file, or a device without an end. */
const MOST_BYTES = 1024 * 1024;

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
    const buffer = Buffer.alloc(MOST_BYTES + 1);
    let size = 0;
    for (;;) {
      const count = readSync(file, buffer, size, buffer.length - size, null);
      size += count;
      if (size > MOST_BYTES) throw new TooBig(path);
      if (count === 0) return buffer.toString("utf8", 0, size);
    }
  } finally {
    closeSync(file);
  }
}
