import fc from "fast-check";
import type { Group } from "../../src/core/group/group.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/core/text/json.ts";

/**
 * Characters from every region in which UTF-16 and UTF-8 order differently, beside plain ones:
 * U+E000 to U+FFFF and the code points above, which UTF-16 writes with smaller units.
 */
const telling = fc.constantFrom(
  "a",
  "b",
  "\u007f",
  "\u0080",
  "\u07ff",
  "\u0800",
  "\ud7ff",
  "\ue000",
  "\uffff",
);
const astral = fc.constantFrom("\u{10000}", "\u{1f600}", "\u{10ffff}");

/** Any well-formed text, with neighbours at the borders of the encodings far more often than by chance. */
export const anyText = (constraints: fc.StringConstraints = {}): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.oneof(telling, astral, fc.string({ unit: "binary", minLength: 1, maxLength: 1 })),
    ...constraints,
  });

/** A name or a mapping value that a row may have. */
export const anyName = (): fc.Arbitrary<string> => anyText().filter((name) => name.trim() !== "");

/** An id that a row may have. */
export const anyId = (): fc.Arbitrary<string> =>
  anyText({ minLength: 1, maxLength: 4 }).filter((id) => !id.includes("\0"));

/** Keys that JavaScript treats in a way of its own are keys like any other. */
const anyKey = fc.oneof(
  fc.constantFrom("__proto__", "constructor", "toString", "10", "9", ""),
  anyText({ maxLength: 4 }),
);

export const anyJson = (): fc.Arbitrary<Json> =>
  fc.letrec<{ json: Json; object: JsonObject }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
      anyText({ maxLength: 6 }),
      fc.array(tie("json"), { maxLength: 3 }),
      tie("object"),
    ),
    object: objectOf(tie("json")),
  })).json;

export const anyObject = (): fc.Arbitrary<JsonObject> => objectOf(anyJson());

export const anyGroup = (): fc.Arbitrary<Group> =>
  fc.record({
    user_group_id: anyId(),
    name: anyName(),
    mapping: objectOf(anyText()),
    properties: anyObject(),
  });

function objectOf<T extends Json>(values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc
    .uniqueArray(fc.tuple(anyKey, values), { selector: ([key]) => key, maxLength: 4 })
    .map((members) => Object.fromEntries(members));
}

/** The same value with the keys of every object in another order. */
export function reordered<T extends Json>(value: T): T;
export function reordered(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => reordered(item));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, member]): [string, Json] => [key, reordered(member)]);
  return Object.fromEntries(members.reverse());
}
