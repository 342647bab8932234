import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unpackedPackage } from "./debian-packages.ts";

/** The wall clock of processes that have `env`. Their monotonic clock stays as it is. */
export interface FakeTime {
  readonly env: Readonly<Record<string, string>>;
  /** Sets the clock, also of processes that run: so many hours ahead of the machine's. */
  set(hours: number): Promise<void>;
}

/** Debian's libfaketime, which keeps the clock in this folder. Rejects as `unpackedPackage` does. */
export async function fakeTime(folder: string): Promise<FakeTime> {
  const { root } = await unpackedPackage("libfaketime");
  const library = (await readdir(root, { recursive: true })).find((path) =>
    path.endsWith("/libfaketimeMT.so.1"),
  );
  if (library === undefined) throw new Error("libfaketime has no library");
  const file = join(folder, "time");
  const set = (hours: number): Promise<void> => writeFile(file, `${hours < 0 ? "" : "+"}${hours * 3600}\n`);
  await set(0);
  const env = {
    LD_PRELOAD: join(root, library),
    FAKETIME_TIMESTAMP_FILE: file,
    // In seconds. The file is read again when they are over.
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
  return { env, set };
}
