import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { onTestFinished } from "vitest";
import { MAIN } from "./program.ts";
import { until } from "./world.ts";

/** Whether this machine has the program `script` of util-linux, which gives a program a terminal. */
export const hasTerminals = spawnSync("script", ["--version"]).status === 0;
export const ENTER = "\r";
export const SPACE = " ";
export const CLEAR = "\u0015";
export const CTRL_C = "\u0003";

/** The built program in a terminal of its own, and the keys that a person types. */
export function inTerminal(args: readonly string[], env: Readonly<Record<string, string>>) {
  const command = `stty rows 40 cols 120; exec '${process.execPath}' '${MAIN}' ${args.join(" ")}`;
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    env: { PATH: process.env.PATH ?? "", TERM: "xterm", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let shown = "";
  let answered = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  const printed = (): string => stripVTControlCharacters(shown);
  return {
    printed,
    ended: once(child, "close").then(([code]) => code),
    /** Waits for the question, and types. */
    async answer(question: string, ...keys: readonly string[]): Promise<void> {
      await until(() => printed().slice(answered).includes(question));
      answered = printed().length;
      for (const key of keys) {
        child.stdin.write(key);
        await sleep(50);
      }
    },
  };
}
