import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { installedProgram, unpackedPackage } from "./debian-packages.ts";
import { unlessMissing } from "./not-to-be-had.ts";

const INSTALLED = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const PACKAGE = "chromium-headless-shell";

interface ChromiumProgram {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Starts an installed headless Chromium, or Debian's. Null, with a message, if there is neither. */
export const startChromium = (): Promise<Browser | null> =>
  unlessMissing("Chromium", PACKAGE, async () => {
    const { executablePath, env } = await chromiumProgram();
    // In a container there are often no namespaces to build the sandbox from, and all pages are our own.
    return chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ["--no-sandbox"] });
  });

async function chromiumProgram(): Promise<ChromiumProgram> {
  for (const name of INSTALLED) {
    const executablePath = installedProgram(name);
    if (executablePath) return { executablePath, env: {} };
  }
  const { root, env } = await unpackedPackage(PACKAGE);
  return {
    executablePath: join(root, "usr/lib/chromium", PACKAGE),
    env: { ...env, LD_LIBRARY_PATH: withPrivateFolders(env.LD_LIBRARY_PATH ?? ""), ...fontsIn(root) },
  };
}

/** One of the libraries has parts of its own in a folder that only an installed one looks into. */
const withPrivateFolders = (libraryPath: string): string =>
  libraryPath
    .split(delimiter)
    .flatMap((folder) => [folder, join(folder, "pulseaudio")])
    .join(delimiter);

/** Brings fonts if the system has none. */
const fontsIn = (root: string): Readonly<Record<string, string>> =>
  existsSync(join(root, "etc/fonts")) ? { FONTCONFIG_SYSROOT: root } : {};
