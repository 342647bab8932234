import type { TokenStore } from "../../ports/token-store.ts";

const refuse = async (): Promise<never> => {
  throw new Error("this run must not touch a token store");
};

/** For a run that stores no token: it has no destination, so it makes no table there and claims none. */
export const NO_TOKENS: TokenStore = {
  destinations: [],
  batchSize: 1,
  prepare: async () => {},
  inspect: async () => {},
  rehearse: async () => [],
  holdsAny: async () => false,
  read: async () => new Map(),
  lagging: async () => new Map(),
  write: refuse,
  writeAtOnce: refuse,
  remove: refuse,
};
