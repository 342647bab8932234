/** Any value that JSON can carry. No value is undefined. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The object that the text is as JSON; undefined if it is none. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** JSON with the keys of every object sorted, so that equal values give equal text. */
export const canonicalJson = (value: Json): string =>
  // Every group of every sync passes here. Most have their keys in order, but not with the schemas 40 and 134:
  // JavaScript sorts them by their size, and "134" comes first.
  isInOrder(value) ? JSON.stringify(value) : sortedJson(value);

/** Whether JSON.stringify would write the keys of every object in their order. */
function isInOrder(value: Json): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let before: string | undefined;
  for (const key in value) {
    if (before !== undefined && before > key) return false;
    if (!isInOrder((value as JsonObject)[key] as Json)) return false;
    before = key;
  }
  return true;
}

function sortedJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  // Lists of keys and texts would take half as long again.
  let members = "";
  for (const key of Object.keys(value).sort())
    members += `${members === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`;
  return `{${members}}`;
}

/** A quote, an escape or a number. There is no pattern for whole strings, because it would overflow on long strings. */
const TOKEN = /\\.|"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MAY_NOT_FIT = /\d{16}|[eE]\+?\d{3}/;

/**
 * JSON.parse without rounding: integers beyond ±(2^53-1) and numbers beyond the largest double become strings, as they do
 * if they come from columns of their own. Throws SyntaxError like JSON.parse.
 */
export function parseJson(text: string): Json {
  const rounded = JSON.parse(text) as Json;
  if (!MAY_NOT_FIT.test(text)) return rounded;
  let inString = false;
  const exact = text.replace(TOKEN, (token) => {
    if (token === '"') inString = !inString;
    return inString || fits(token) ? token : `"${token}"`;
  });
  return JSON.parse(exact) as Json;
}

function fits(token: string): boolean {
  if (/^-?\d+$/.test(token)) return Number.isSafeInteger(Number(token));
  return !/^-?\d/.test(token) || Number.isFinite(Number(token));
}
