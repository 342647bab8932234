import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { installedProgram, unpackedPackage } from "./debian-packages.ts";
import { unlessMissing } from "./not-to-be-had.ts";

/** A Python that can import psycopg2 and pymysql. It runs in `env`. */
export interface Python {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

const PACKAGES = ["python3-psycopg2", "python3-pymysql"] as const;

const run = promisify(execFile);

/** The installed Python if it has both drivers, or else Debian's with Debian's drivers. Null, with a message, if there is neither. */
export const findPython = (): Promise<Python | null> =>
  unlessMissing("Python with database drivers", PACKAGES.join(" "), async () => {
    const installed = installedProgram("python3");
    if (installed !== undefined && (await hasDrivers({ program: installed, env: {} }))) {
      return { program: installed, env: {} };
    }
    const unpacked = await unpackedPython();
    await importDrivers(unpacked);
    return unpacked;
  });

/** The drivers are made for the distribution's own Python, which comes along if it isn't installed. */
async function unpackedPython(): Promise<Python> {
  const [name, ...others] = PACKAGES;
  const { root, env } = await unpackedPackage(name, { with: others });
  const own = join(root, "usr/bin/python3");
  return {
    program: existsSync(own) ? own : "/usr/bin/python3",
    env: { ...env, PYTHONPATH: join(root, "usr/lib/python3/dist-packages") },
  };
}

const importDrivers = ({ program, env }: Python): Promise<unknown> =>
  run(program, ["-c", "import psycopg2, pymysql"], { env: { ...process.env, ...env } });

const hasDrivers = (python: Python): Promise<boolean> =>
  importDrivers(python).then(
    () => true,
    () => false,
  );
