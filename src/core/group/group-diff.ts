import { canonicalJson, type Json } from "../text/json.ts";
import type { Group } from "./group.ts";

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

const fieldsOf = ({ name, mapping, properties }: Group): Map<string, Json> =>
  new Map<string, Json>([
    ["name", name],
    ...Object.entries(mapping).map(([key, value]): [string, Json] => [`mapping.${key}`, value]),
    ...Object.entries(properties).map(([key, value]): [string, Json] => [`properties.${key}`, value]),
  ]);
