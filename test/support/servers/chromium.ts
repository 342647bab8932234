import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { installedProgram, unpackedPackage } from "./debian-packages.ts";

const INSTALLED = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const PACKAGE = "chromium-headless-shell";

interface ChromiumProgram {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Starts an installed headless Chromium, or Debian's. Null, with a message, if there is neither. */
export async function startChromium(): Promise<Browser | null> {
  try {
    const { executablePath, env } = await chromiumProgram();
    // In a container there are often no namespaces to build the sandbox from, and all pages are our own.
    return await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ["--no-sandbox"] });
  } catch (error) {
    if (process.env.CI === "true") throw error;
    console.error(
      [
        "\n!!! There is no Chromium: every test that needs one is SKIPPED.",
        `!!! To get one: install it (Debian: ${PACKAGE}), or let apt-get download it.`,
        `!!! ${error instanceof Error ? error.message : error}\n`,
      ].join("\n"),
    );
    return null;
  }
}

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
