import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { DiskSpool } from "../../../src/adapters/disk/spool.ts";
import { collect } from "../../contracts/collect.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** More than the spool keeps in memory, and more than one chunk of its file. */
const MANY = 25_000;

const anItem = (index: number) => ({
  user_group_id: `t-${index}`,
  name: `${"x".repeat(index % 5)}é–😀\n"\\`.repeat(1 + (index % 7)),
  retryAt: null,
});

function aSpool<T>(items: readonly T[] = []): DiskSpool<T> {
  const spool = new DiskSpool<T>();
  onTestFinished(() => spool.close());
  for (const item of items) spool.append(item);
  return spool;
}

/** An empty folder for the temporary files of one test. */
function ownTmpdir(): string {
  const folder = temporaryFolder();
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

test.each([0, 1, 10_000, 10_001, MANY])("%i items come back in order, any number of times", async (count) => {
  const items = Array.from({ length: count }, (_, index) => anItem(index));
  const spool = aSpool(items);
  expect(spool.length).toBe(count);
  expect(await collect(spool.read())).toEqual(items);
  expect(await collect(spool.read())).toEqual(items);
});

test.each([0, 1, 2, 3])(
  "a character is kept whole where a chunk ends inside it (%i bytes in)",
  async (shift) => {
    const items = ["x".repeat(shift), ...Array.from({ length: 12_000 }, () => "😀".repeat(40))];
    expect(await collect(aSpool(items).read())).toEqual(items);
  },
);

test("a reader that stops early does not disturb the next one, nor one at the same time", async () => {
  const items = Array.from({ length: MANY }, (_, index) => anItem(index));
  const spool = aSpool(items);
  for await (const batch of spool.read()) {
    expect(batch[0]).toEqual(items[0]);
    break;
  }
  const both = await Promise.all([collect(spool.read()), collect(spool.read())]);
  expect(both).toEqual([items, items]);
});

test("nothing is left in the temporary folder, not even while the spool is open", async () => {
  const folder = ownTmpdir();
  const spool = aSpool(Array.from({ length: MANY }, (_, index) => anItem(index)));
  expect(readdirSync(folder)).toEqual([]);
  expect(await collect(spool.read())).toHaveLength(MANY);
  spool.close();
  spool.close();
  expect(readdirSync(folder)).toEqual([]);
});

test("a short list needs no temporary folder; a long one says that there is none", async () => {
  const folder = join(ownTmpdir(), "missing");
  vi.stubEnv("TMPDIR", folder);
  const spool = aSpool(Array.from({ length: 10_000 }, (_, index) => index));
  expect(await collect(spool.read())).toHaveLength(10_000);
  expect(() => spool.append(10_000)).toThrow(
    expect.objectContaining({
      code: "NO_TEMPORARY_SPACE",
      message: expect.stringContaining(folder),
      hint: expect.stringContaining("TMPDIR"),
    }),
  );
});
