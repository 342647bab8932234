import { hash } from "node:crypto";
import { canonicalJson, type JsonObject } from "./json.ts";
import type { Secret } from "./secret.ts";

/** What the service keeps for a tenant, in the words of its own interface. */
export interface Group {
  readonly user_group_id: string;
  readonly name: string;
  /** Schema id → data source id; strings on both sides. */
  readonly mapping: Readonly<Record<string, string>>;
  readonly properties: JsonObject;
}

/** SHA-256, base64url, over the canonical JSON of a group: equal groups have equal fingerprints. */
export const groupFingerprint = (group: Group): string =>
  hash("sha256", canonicalJson({ ...group }), "base64url");

/** SHA-256, base64url, over a token: names a token in the ledger and in logs without holding it. */
export const tokenFingerprint = (token: Secret): string => hash("sha256", token.reveal(), "base64url");
