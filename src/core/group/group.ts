import { hash } from "node:crypto";
import type { Secret } from "../secret/secret.ts";
import { canonicalJson, type Json, type JsonObject } from "../text/json.ts";

/** What the service keeps for a tenant. The fields have the names of the service's interface. */
export interface Group {
  readonly user_group_id: string;
  readonly name: string;
  /** Schema id → data source id; strings on both sides. */
  readonly mapping: Readonly<Record<string, string>>;
  readonly properties: JsonObject;
}

/** Canonical JSON: the same text for equal groups. */
export const groupJson = ({ mapping, name, properties, user_group_id }: Group): string =>
  canonicalJson({ mapping, name, properties, user_group_id });

/** SHA-256, base64url, of what `groupJson` returns: equal groups have equal fingerprints. */
export const groupFingerprint = (json: string): string => hash("sha256", json, "base64url");

/** SHA-256, base64url, of a token: names the token in the ledger and in logs without revealing it. */
export const tokenFingerprint = (token: Secret): string => hash("sha256", token.reveal(), "base64url");

/** A field that differs. `from` is left out if the field is new, `to` if it is gone. */
export interface FieldChange {
  /** `name`, `mapping.40`, `properties.plan` */
  readonly field: string;
  readonly from?: Json;
  readonly to?: Json;
}

/** The fields that differ between two states of a group, ordered by name. */
export function changedFields(before: Group, after: Group): FieldChange[] {
  const old = fieldsOf(before);
  const next = fieldsOf(after);
  return [...new Set([...old.keys(), ...next.keys()])].sort().flatMap((field): FieldChange[] => {
    const [from, to] = [old.get(field), next.get(field)];
    if (from !== undefined && to !== undefined && canonicalJson(from) === canonicalJson(to)) return [];
    return [{ field, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }];
  });
}

export const fieldsOf = ({ name, mapping, properties }: Group): Map<string, Json> =>
  new Map<string, Json>([
    ["name", name],
    ...Object.entries(mapping).map(([key, value]): [string, Json] => [`mapping.${key}`, value]),
    ...Object.entries(properties).map(([key, value]): [string, Json] => [`properties.${key}`, value]),
  ]);
