import { hash } from "node:crypto";
import type { Secret } from "../secret/secret.ts";
import { canonicalJson, type JsonObject } from "../text/json.ts";

/** What the service keeps for a tenant. The fields have the names of the service's interface. */
export interface Group {
  readonly user_group_id: string;
  readonly name: string;
  /** Schema id → data source id; strings on both sides. */
  readonly mapping: Readonly<Record<string, string>>;
  readonly properties: JsonObject;
}

/** SHA-256, base64url, of the group's canonical JSON: equal groups have equal fingerprints. */
export const groupFingerprint = ({ mapping, name, properties, user_group_id }: Group): string =>
  hash("sha256", canonicalJson({ mapping, name, properties, user_group_id }), "base64url");

/** SHA-256, base64url, of a token: names the token in the ledger and in logs without revealing it. */
export const tokenFingerprint = (token: Secret): string => hash("sha256", token.reveal(), "base64url");
