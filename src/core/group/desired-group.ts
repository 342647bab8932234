import { hash } from "node:crypto";
import { describe } from "../failure/sync-error.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject, parseJson } from "../text/json.ts";
import { type Group, groupFingerprint, groupJson } from "./group.ts";
import { columnsOf, type GroupRules, type ObjectRule, type Rule } from "./group-rules.ts";
import {
  type Cell,
  MAX_ID_BYTES,
  type RejectionCode,
  type Tenant,
  type TenantRow,
  Unusable,
} from "./tenant.ts";

/** A larger group is a mistake in the data: no service takes a megabyte of properties. */
const MAX_GROUP_BYTES = 1024 * 1024;
/** Real data is nested far less deep, and a JSON writer's stack overflows only far deeper. */
const MAX_DEPTH = 100;

/** Leaves a key out of `mapping` or `properties`. */
const OMIT = Symbol("omit");

type Read<T> = (row: TenantRow) => T;

/** Rejects the row, from any depth of its rules. Thrown and caught in this file only. */
class Rejected extends Error {
  readonly code: RejectionCode;

  constructor(code: RejectionCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Compiles the rules once, so that a million rows cost only their values. The function that it returns turns a row into a
 * tenant. Rows must have the columns of `columnsOf(rules)`, in that order.
 */
export function desiredTenants(rules: GroupRules): (row: TenantRow) => Tenant {
  const columns = columnsOf(rules);
  const cell = (column: string): Read<Cell> => {
    const index = columns.indexOf(column);
    return ({ cells }) => cells[index] as Cell;
  };
  const readName = requiredText("name", rules.name, cell);
  const readMapping = objectReader("mapping", rules.mapping, cell, filledText);
  const readProperties = objectReader("properties", rules.properties, cell, (_, value) => value);
  const readDataSourceId = rules.dataSourceId
    ? optionalText("data_source_provided_id", rules.dataSourceId, cell)
    : () => null;

  return (row) => {
    const id = row.cells[0] as Cell;
    try {
      const user_group_id = checkedId(rules.id, id);
      if (row.removed) return { kind: "flagged", user_group_id };
      if (row.notReady) return { kind: "not_ready", user_group_id };
      const group: Group = {
        user_group_id,
        name: readName(row),
        mapping: readMapping(row),
        properties: readProperties(row),
      };
      if (isNestedDeeperThan(MAX_DEPTH, group.properties)) {
        throw new Rejected("VALUE_UNUSABLE", `the group is nested more than ${MAX_DEPTH} levels deep`);
      }
      const json = groupJson(group);
      if (Buffer.byteLength(json) > MAX_GROUP_BYTES) {
        throw new Rejected("GROUP_TOO_LARGE", `the group is larger than ${MAX_GROUP_BYTES} bytes of JSON`);
      }
      return {
        kind: "desired",
        user_group_id,
        group,
        fingerprint: groupFingerprint(json),
        row: row.digest,
        dataSourceId: readDataSourceId(row),
      };
    } catch (error) {
      // What a row lacks until it is ready is no mistake, and that may be its id.
      if (row.notReady) return { kind: "not_ready", user_group_id: null };
      const user_group_id = typeof id === "string" && id !== "" ? id : null;
      return { kind: "rejected", user_group_id, bucket: row.digest.bucket, ...reasonOf(error) };
    }
  };
}

/** An unexpected error rejects only the row in which it happens: the other tenants still get their groups. */
function reasonOf(error: unknown): { readonly code: RejectionCode; readonly message: string } {
  if (error instanceof Rejected) return { code: error.code, message: error.message };
  return { code: "VALUE_UNUSABLE", message: `no group can be made of this row: ${describe(error)}` };
}

/** Raise this number when the same columns give another group than before: then all rows are read again. */
const READER = 3;

/** The seed of the row digests. Other rules make other groups of the same row, so they need other digests. */
export function digestSeed(rules: GroupRules): string {
  const json = JSON.parse(JSON.stringify({ reader: READER, rules })) as Json;
  return hash("sha256", canonicalJson(json), "base64url");
}

/** The same id in several rows. No row is used, because nobody can tell which one is right. */
export const duplicateTenant = (id: string, bucket: number, column: string, rows: number): Tenant => ({
  kind: "rejected",
  user_group_id: id,
  bucket,
  code: "ID_DUPLICATE",
  message: `${rows} rows have this id in column ${column}; none of them is used`,
});

function checkedId(column: string, id: Cell): string {
  if (id === null) throw new Rejected("ID_NULL", `column ${column} is null`);
  if (typeof id !== "string") throw new Rejected("ID_UNUSABLE", `column ${column} ${unusableReason(id)}`);
  if (id === "") throw new Rejected("ID_EMPTY", `column ${column} is empty`);
  // A UTF-16 code unit takes at most three bytes in UTF-8, so short ids need not be measured.
  if (id.length * 3 > MAX_ID_BYTES && Buffer.byteLength(id) > MAX_ID_BYTES) {
    throw new Rejected("ID_TOO_LONG", `column ${column} is longer than ${MAX_ID_BYTES} bytes`);
  }
  if (id.includes("\0")) throw new Rejected("ID_UNUSABLE", `column ${column} holds a NUL character`);
  return id;
}

function objectReader<T extends Json>(
  field: string,
  rule: ObjectRule,
  cell: (column: string) => Read<Cell>,
  convert: (place: string, value: Json) => T,
): Read<Readonly<Record<string, T>>> {
  if (rule.kind === "json") {
    const read = cell(rule.column);
    return (row) => {
      const members = Object.entries(wholeObject(field, rule.column, read(row)));
      return Object.fromEntries(
        members.map(([key, value]) => [key, convert(`${field}.${key} (column ${rule.column})`, value)]),
      );
    };
  }
  // Sort here once: the canonical JSON of each group then finds its keys in order.
  const readers = Object.keys(rule.keys)
    .sort()
    .map((key) => {
      const keyRule = rule.keys[key] as Rule;
      return { key, read: valueReader(keyRule, cell), place: `${field}.${key}${columnsNote(keyRule)}` };
    });
  return (row) => {
    const members: [string, T][] = [];
    for (const { key, read, place } of readers) {
      const value = read(row, place);
      if (value !== OMIT) members.push([key, convert(place, value)]);
    }
    return Object.fromEntries(members);
  };
}

/** Takes a JSON column, or a text column that holds JSON, because not every database has JSON columns. */
function wholeObject(field: string, column: string, value: Cell): JsonObject {
  let object = usable(`column ${column}`, value);
  if (typeof object === "string") {
    try {
      object = parseJson(object);
    } catch {
      throw new Rejected("VALUE_UNUSABLE", `column ${column} holds text that is not JSON`);
    }
  }
  if (object === null) {
    if (field === "mapping") throw new Rejected("VALUE_NULL", `column ${column} is null`);
    return {};
  }
  if (!isJsonObject(object)) {
    throw new Rejected("VALUE_UNUSABLE", `column ${column} holds JSON that is not an object`);
  }
  return object;
}

function valueReader(
  rule: Rule,
  cell: (column: string) => Read<Cell>,
): (row: TenantRow, place: string) => Json | typeof OMIT {
  switch (rule.kind) {
    case "constant":
      return () => rule.value;
    case "column": {
      const read = cell(rule.column);
      return (row, place) => {
        const value = usable(place, read(row));
        if (value !== null) return value;
        if (rule.default !== undefined) return rule.default;
        return rule.optional ? OMIT : null;
      };
    }
    case "template": {
      const parts = rule.parts.map((part) =>
        typeof part === "string" ? part : { column: part.column, read: cell(part.column) },
      );
      return (row, place) => {
        let text = "";
        for (const part of parts) {
          if (typeof part === "string") {
            text += part;
            continue;
          }
          const value = usable(place, part.read(row), part.column);
          if (value === null) {
            if (rule.optional) return OMIT;
            throw new Rejected("VALUE_NULL", `${place}: column ${part.column} is null`);
          }
          text += asText(place, value);
        }
        return text;
      };
    }
  }
}

/** Reads a value as text, and rejects the row if the value is left out, null or blank. */
function requiredText(field: string, rule: Rule, cell: (column: string) => Read<Cell>): Read<string> {
  const read = valueReader(rule, cell);
  const place = `${field}${columnsNote(rule)}`;
  return (row) => {
    const value = read(row, place);
    return filledText(place, value === OMIT ? null : value);
  };
}

/** Reads a value as text; null if the value is left out or null. */
function optionalText(field: string, rule: Rule, cell: (column: string) => Read<Cell>): Read<string | null> {
  const read = valueReader(rule, cell);
  const place = `${field}${columnsNote(rule)}`;
  return (row) => {
    const value = read(row, place);
    return value === OMIT || value === null ? null : asText(place, value);
  };
}

/**
 * Refuses null and blank text, which a service may trim: without a name nobody can tell whose the group is, and without a
 * mapping the service falls back to the default data source, which may be another tenant's.
 */
function filledText(place: string, value: Json): string {
  if (value === null) throw new Rejected("VALUE_NULL", `${place} is null`);
  const text = asText(place, value);
  if (text.trim() === "")
    throw new Rejected("VALUE_EMPTY", `${place} ${text === "" ? "is empty" : "has nothing but blanks"}`);
  return text;
}

function asText(place: string, value: Json): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Rejected("VALUE_UNUSABLE", `${place} holds JSON where text is needed`);
}

/** `place` is where the value goes. Give `column` if `place` doesn't name it: a template reads several columns. */
function usable(place: string, value: Cell, column?: string): Json {
  if (!(value instanceof Unusable)) return value;
  const where = column === undefined ? place : `${place}: column ${column}`;
  throw new Rejected("VALUE_UNUSABLE", `${where} ${value.reason}`);
}

const unusableReason = (value: Cell): string =>
  value instanceof Unusable ? value.reason : "holds no text, integer or uuid";

function columnsNote(rule: Rule): string {
  return rule.kind === "column" ? ` (column ${rule.column})` : "";
}

/** Whether an object or array lies deeper in the value than this many levels below it. */
function isNestedDeeperThan(levels: number, value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels < 0) return true;
  for (const key in value)
    if (isNestedDeeperThan(levels - 1, (value as JsonObject)[key] as Json)) return true;
  return false;
}
