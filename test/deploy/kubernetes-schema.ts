import * as models from "@kubernetes/client-node";
import type { Manifest } from "./files.ts";

/** A field of a type, as the Kubernetes client describes it. */
interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

type Model = { getAttributeTypeMap(): readonly Attribute[] };

const modelOf = (type: string): Model | undefined =>
  (models as unknown as Readonly<Record<string, Model | undefined>>)[type];

/** The keys of a manifest that Kubernetes doesn't know, and the values that have a wrong type. */
export function strangersIn(manifest: Manifest): string[] {
  return [...strangers(manifest, `V1${manifest.kind}`, manifest.kind)];
}

function* strangers(value: Manifest, type: string, at: string): Generator<string> {
  const item = /^Array<(.+)>$/.exec(type)?.[1];
  const model = modelOf(type);
  if (item !== undefined) {
    if (!Array.isArray(value)) yield `${at} is no list`;
    else for (const [index, one] of value.entries()) yield* strangers(one, item, `${at}.${index}`);
  } else if (model !== undefined) {
    for (const [key, inner] of Object.entries(value)) {
      const attribute = model.getAttributeTypeMap().find(({ baseName }) => baseName === key);
      if (attribute === undefined) yield `${at}.${key} is unknown`;
      else yield* strangers(inner, attribute.type, `${at}.${key}`);
    }
  } else if (!isOfType(value, type)) yield `${at} is no ${type}`;
}

function isOfType(value: unknown, type: string): boolean {
  const [, entry] = /^\{ \[key: string\]: (.+); \}$/.exec(type) ?? [];
  if (entry !== undefined)
    return (
      typeof value === "object" && value !== null && Object.values(value).every((one) => isOfType(one, entry))
    );
  if (type === "IntOrString") return typeof value === "string" || Number.isInteger(value);
  return typeof value === type;
}
