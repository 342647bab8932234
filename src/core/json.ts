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

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /\d{16}/;

/**
 * JSON.parse that doesn't round: integers beyond ±(2^53-1) become strings, as they do in columns of their own.
 * Throws SyntaxError as JSON.parse does.
 */
export function parseJson(text: string): Json {
  if (!LONG_INTEGER.test(text)) return JSON.parse(text) as Json;
  const exact = text.replace(STRING_OR_NUMBER, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  );
  return JSON.parse(exact) as Json;
}
