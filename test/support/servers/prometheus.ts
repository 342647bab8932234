import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findProgramPath } from "./debian-program.ts";
import { onFreePort } from "./embedded-server.ts";

/** A real Prometheus that scrapes one address every second. */
export interface Prometheus {
  /** The answer to a query now. Rejects with Prometheus's own words if it can't be parsed or evaluated. */
  query(expression: string): Promise<readonly Sample[]>;
  stop(): Promise<void>;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
}

export type StartPrometheus = (target: string, rules: string) => Promise<Prometheus>;

/** Starts an installed Prometheus, or Debian's. Null, with a message, if there is neither. */
export async function findPrometheus(): Promise<StartPrometheus | null> {
  const program = await findProgramPath({
    name: "prometheus",
    package: "prometheus",
    path: "usr/bin/prometheus",
    version: ["--version"],
  });
  if (program === null) return null;
  return (target, rules) =>
    onFreePort("address already in use", (port) => start(program, port, target, rules));
}

async function start(program: string, port: number, target: string, rules: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-prometheus-"));
  writeFileSync(join(folder, "rules.yaml"), rules);
  writeFileSync(
    join(folder, "prometheus.yml"),
    [
      "global: { scrape_interval: 1s, evaluation_interval: 1s }",
      "rule_files: [rules.yaml]",
      "scrape_configs:",
      `  - { job_name: groupsync, static_configs: [{ targets: ["${target}"] }] }`,
    ].join("\n"),
  );
  const args = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const closed = once(child, "close");
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await closed;
    rmSync(folder, { recursive: true, force: true });
  };
  while (!(await isReady(url))) {
    if (child.exitCode !== null) {
      await stop();
      throw new Error(log);
    }
    await sleep(100);
  }
  return { query: (expression) => query(url, expression), stop };
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );

async function query(url: string, expression: string): Promise<readonly Sample[]> {
  const body = new URLSearchParams({ query: expression });
  // biome-ignore lint/suspicious/noExplicitAny: the API's answer, of which the test sees the rest
  const answer: any = await (await fetch(`${url}/api/v1/query`, { method: "POST", body })).json();
  if (answer.status !== "success") throw new Error(`${expression}: ${answer.error}`);
  return answer.data.result;
}
