import { Secret } from "../core/secret/secret.ts";
import { type ConfigDocument, textsIn } from "./document/document.ts";
import type { Config } from "./model/config.ts";

/** The keys whose secrets the config file holds itself, although `${…}` could name a variable or a file. */
export function secretsInFile({ tree, locate }: ConfigDocument, config: Config): string[] {
  const secrets = new Set([...secretsIn(config)].map((secret) => secret.reveal()));
  return [...textsIn(tree)].flatMap(({ path, text }) => {
    const { written } = locate(path);
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

/** A reference to something outside of the file. `${NAME:-default}` is none, because the file holds the default. */
const REFERENCE = /\$\{(?:file:[^}]*|\w+(?::-)?)\}/g;
/** Stands for a reference. YAML text cannot hold this character. */
const ELSEWHERE = "\0";

/** `written` is a secret value as it stands in the file. Of a database url only the password is secret. */
function holdsSecret(written: string): boolean {
  const bare = written.replace(REFERENCE, ELSEWHERE);
  const isDatabase = /^(postgres|postgresql|mysql|mariadb):/.test(bare);
  const secrets = isDatabase ? passwordsOf(bare) : [bare];
  return secrets.some((text) => text !== "" && !text.includes(ELSEWHERE));
}

/** The password before the host, and the password that drivers take as a parameter. */
const passwordsOf = (url: string): string[] => [
  ...[...url.matchAll(/^\w+:\/\/[^/?#@:]*:([^@]*)@/g)].map(([, password = ""]) => password),
  ...[...url.matchAll(/[?&]password=([^&#]*)/g)].map(([, password = ""]) => password),
];
