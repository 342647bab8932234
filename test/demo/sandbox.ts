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
  /** Ends the sandbox, and removes its folder. */
  stop(): Promise<unknown>;
}

const KEEPER = fileURLToPath(new URL("sandbox.sh", import.meta.url));

/** Runs `command`. `stop`, or the end of this process in any way, ends the command and removes `folder`. */
export function startSandbox(command: string, folder: string, env: NodeJS.ProcessEnv): RunningSandbox {
  const keeper = spawn("sh", [KEEPER, folder, ...command.split(" ")], {
    stdio: ["pipe", "pipe", "inherit"],
    env,
    // Keep a Ctrl-C at the terminal away from the sandbox: the demo needs it until its own end.
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

/** Reads the address from the section of a config that the sandbox prints once it listens. */
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
