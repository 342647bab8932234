/** Any value that JSON can carry. Keys whose value is undefined do not exist here. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON with the keys of every object sorted, so that equal values give equal text. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`);
  return `{${members.join(",")}}`;
}

/** A quote, an escape, or a number: walked one by one, as a pattern for whole strings overflows on long ones. */
const TOKEN = /\\.|"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MAY_NOT_FIT = /\d{16}|[eE]\+?\d{3}/;

/**
 * JSON.parse that doesn't round: integers beyond ±(2^53-1) become strings, as they do in columns of their own,
 * and so do numbers beyond the largest double. Throws SyntaxError as JSON.parse does.
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
