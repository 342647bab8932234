import type { Host } from "../../src/compose/host.ts";

/** A process without variables and without anybody at a terminal. */
export const aHost = (): Host => ({
  env: {},
  pid: 1,
  uid: 0,
  isRunning: () => false,
  terminal: undefined,
  person: () => undefined,
  stop: new AbortController().signal,
});
