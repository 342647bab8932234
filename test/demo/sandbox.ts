import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

export interface SandboxAddress {
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface RunningSandbox {
  readonly address: Promise<SandboxAddress>;
  /** Ends it, and removes the folder that it was given. */
  stop(): Promise<unknown>;
}

const KEEPER = fileURLToPath(new URL("sandbox.sh", import.meta.url));

/** Runs `command` in `folder`, which goes with it, for as long as this process lives at most. */
export function startSandbox(command: string, folder: string, env: NodeJS.ProcessEnv): RunningSandbox {
  const keeper = spawn("sh", [KEEPER, folder, ...command.split(" ")], {
    stdio: ["pipe", "pipe", "inherit"],
    env,
    // A Ctrl-C at the terminal is for us: the sandbox is needed until we are done.
    detached: true,
  });
  const ended = once(keeper, "exit");
  return {
    address: addressIn(keeper.stdout),
    stop: () => {
      keeper.stdin.end();
      return ended;
    },
  };
}

/** What the sandbox prints once it listens is a piece of a config. */
function addressIn(output: Readable): Promise<SandboxAddress> {
  let text = "";
  return new Promise((resolve, reject) => {
    createInterface(output)
      .on("line", (line) => {
        text += `${line}\n`;
        const { base_url: baseUrl, api_key: apiKey } = parse(text)?.service ?? {};
        if (baseUrl && apiKey) resolve({ baseUrl, apiKey });
      })
      .on("close", () => reject(new Error("the sandbox did not start")));
  });
}
