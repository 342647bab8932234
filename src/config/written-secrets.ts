import { isJsonObject, type Json } from "../core/json.ts";
import { Secret } from "../core/secret.ts";
import type { Config } from "./config.ts";
import type { ConfigDocument } from "./document.ts";
import type { Path } from "./problems.ts";

/** The keys of the config file that hold a secret themselves, where they could name a variable or a file. */
export function writtenSecrets({ tree, find }: ConfigDocument, config: Config): string[] {
  const secrets = new Set([...secretsIn(config)].map((secret) => secret.reveal()));
  return [...texts(tree, [])].flatMap(({ path, text }) => {
    const { written } = find(path);
    const isSecret = secrets.has(text) && typeof written === "string" && holdsSecret(written);
    return isSecret ? path.join(".") : [];
  });
}

function* secretsIn(value: unknown): Generator<Secret> {
  if (value instanceof Secret) yield value;
  else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) yield* secretsIn(inner);
  }
}

function* texts(value: Json | undefined, path: Path): Generator<{ path: Path; text: string }> {
  if (typeof value === "string") yield { path, text: value };
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* texts(item, [...path, index]);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value)) yield* texts(item, [...path, key]);
  }
}

/** A default is no reference: it stands in the file. */
const REFERENCE = /\$\{(?:file:[^}]*|\w+(?::-)?)\}/g;
/** No text of YAML has it. */
const ELSEWHERE = "\0";

/** `written` is the whole of a secret value, before anything was replaced. */
function holdsSecret(written: string): boolean {
  const bare = written.replace(REFERENCE, ELSEWHERE);
  const isDatabase = /^(postgres|postgresql|mysql|mariadb):/.test(bare);
  const secrets = isDatabase ? passwordsOf(bare) : [bare];
  return secrets.some((text) => text !== "" && !text.includes(ELSEWHERE));
}

/** A driver takes one as a parameter, too. */
const passwordsOf = (url: string): string[] => [
  ...[...url.matchAll(/^\w+:\/\/[^/?#@:]*:([^@]*)@/g)].map(([, password = ""]) => password),
  ...[...url.matchAll(/[?&]password=([^&#]*)/g)].map(([, password = ""]) => password),
];
