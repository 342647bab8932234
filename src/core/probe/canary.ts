import type { Group } from "../group/group.ts";

/** The group that `probe` makes at the service, to see how the service behaves, and deletes again. */
const PREFIX = "groupsync-canary-";
const HEX_DIGITS = 32;

export const CANARY_NAME = "groupsync canary, may be deleted";
export const OTHER_CANARY_NAME = "groupsync canary with another name, may be deleted";

/** An id that no tenant has: it can be recognized by its start, and has 128 random bits. */
export const canaryId = (random: () => number): string =>
  PREFIX + Array.from({ length: HEX_DIGITS }, () => Math.floor(random() * 16).toString(16)).join("");

/** No application gets the canary's token, so its mapping and properties don't matter. */
export const canaryGroup = (user_group_id: string, name: string): Group => ({
  user_group_id,
  name,
  mapping: {},
  properties: {},
});
