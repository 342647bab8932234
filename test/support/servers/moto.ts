import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { installedProgram, unpackedPackage } from "./debian-packages.ts";
import { onFreePort, startSupervised } from "./embedded-server.ts";
import { unlessMissing } from "./not-to-be-had.ts";

/** A server that answers as AWS does. It lives as long as this process at most. */
export interface Moto {
  readonly url: string;
  stop(): Promise<void>;
}

interface Program {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const PACKAGE = "python3-moto";
/** What its server needs, and its package only suggests. */
const FOR_THE_SERVER = ["python3-flask-cors", "python3-multipart", "python3-joserfc"];
/** The first that has it. */
const RELEASE = "trixie";

/** An installed moto_server, or Debian's. Null, with a message, if there is neither. */
export const startMoto = (): Promise<Moto | null> =>
  unlessMissing("moto_server", PACKAGE, async () => {
    const { command, env } = await motoServer();
    return onFreePort("in use", async (port) => {
      const { stop } = await startSupervised({
        name: "moto_server",
        command: [...command, "-H", "127.0.0.1", "-p", String(port)],
        env,
        readyWhen: "Running on",
      });
      return { url: `http://127.0.0.1:${port}`, stop };
    });
  });

async function motoServer(): Promise<Program> {
  const installed = installedProgram("moto_server");
  if (installed) return { command: [installed], env: {} };
  const { root, env } = await unpackedPackage(PACKAGE, { with: FOR_THE_SERVER, release: RELEASE });
  const python = await only(join(root, "usr/bin"), /^python3\.\d+$/);
  // Its C library is newer than the one here may be: its own loader takes it.
  const folders = ["usr/lib64", "usr/lib"]
    .map((folder) => join(root, folder))
    .filter((path) => existsSync(path));
  const loaders = await Promise.all(
    folders.map((folder) => only(folder, /^ld-linux-.*\.so\.\d$/).catch(() => "")),
  );
  const loader = loaders.find((path) => path !== "");
  if (loader === undefined) throw new Error(`${root} has no loader`);
  return {
    command: [loader, "--library-path", env.LD_LIBRARY_PATH ?? "", python, join(root, "usr/bin/moto_server")],
    env: { PYTHONHOME: join(root, "usr"), PYTHONDONTWRITEBYTECODE: "1", PYTHONNOUSERSITE: "1" },
  };
}

async function only(folder: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(folder)).find((other) => pattern.test(other));
  if (name === undefined) throw new Error(`${folder} has nothing like ${pattern}`);
  return join(folder, name);
}
