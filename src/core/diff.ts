import type { Group } from "./group.ts";
import { canonicalJson, type Json } from "./json.ts";

/** One field that differs; `from` or `to` is left out where the field is new or gone. */
export interface FieldChange {
  /** `name`, `mapping.40`, `properties.plan` */
  readonly field: string;
  readonly from?: Json;
  readonly to?: Json;
}

/** What changes from one state of a group to the next, in the order of the fields' names. */
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
