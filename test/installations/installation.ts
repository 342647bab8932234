import { onTestFinished } from "vitest";
import type { DatabaseKind } from "../support/databases/database-server.ts";

/** What customers have, of which a test starts one. */
export interface Installation {
  /** The test's name. */
  readonly name: string;
  readonly server: "PostgreSQL" | "MariaDB" | "MySQL";
  /** What stands between the program and the server, or how it is set up; empty for a plain server. */
  readonly through: string;
  /** What differs among several of these. */
  readonly variant?: string;
  /** What can't be shown here by nature, and why. */
  readonly cannot?: Readonly<Partial<Record<Step, string>>>;
  /** What `check` has to say if no sync can work here; nothing else is shown then. */
  readonly refused?: RegExp;
  /** `skip` ends the test. */
  start(skip: (why: string) => never): Promise<Running>;
}

/** Stops the server once the test is over. */
export async function started<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  onTestFinished(() => server.stop());
  return server;
}

/** The parts of a life, in their order. */
export const STEPS = [
  "init",
  "check",
  "probe",
  "sync",
  "changes",
  "deletions",
  "failure",
  "rotation",
  "kill -9",
  "column",
  "channel",
  "failover",
] as const;
export type Step = (typeof STEPS)[number];

export interface Running {
  readonly kind: DatabaseKind;
  /** The server, as its administrator reaches it with nothing in between. */
  readonly url: string;
  /** The version of what stands in between, e.g. "PgBouncer 1.18.0". */
  readonly between?: string;
  /** How each instance of the program reaches the databases: one, or several that take turns. */
  readonly instances: readonly [Reach, ...Reach[]];
  /** What CREATE DATABASE says of the source, e.g. its encoding. The ledger has a database of its own then. */
  readonly encoding?: string;
  /** Settings of both roles. */
  readonly roleSettings?: Readonly<Record<string, string>>;
  /** Resolves once every server has what was committed. */
  settled?(): Promise<void>;
  /** Ends the server that is written to. Another one takes over, at the same address. */
  failOver?(): Promise<void>;
}

/** Makes the program's urls of urls that lead straight to the server. */
export interface Reach {
  source(url: string): string;
  /** Of ledger and tokens. */
  own(url: string): string;
  /** Of `source.changes`; by default that of the source. */
  changes?(url: string): string;
  /** More of its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export const STRAIGHT: Reach = { source: (url) => url, own: (url) => url };

/** The same url at another server's address. */
export const at =
  (server: string) =>
  (url: string): string =>
    Object.assign(new URL(url), { host: new URL(server).host }).href;
