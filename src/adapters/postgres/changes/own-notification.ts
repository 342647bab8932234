import { randomUUID } from "node:crypto";
import { MAX_ID_BYTES } from "../../../core/group/tenant.ts";

/** Also recognised by other instances of groupsync that listen on the same channel. */
const BEGINNING = "groupsync tries whether notifications arrive; this is no id: ";

/** A payload that is no id, because it is longer than any. */
export const ownNotification = (): string => `${BEGINNING}${randomUUID()} `.padEnd(MAX_ID_BYTES + 1, ".");

export const isOwnNotification = (payload: string): boolean =>
  payload.startsWith(BEGINNING) && payload.length > MAX_ID_BYTES;
