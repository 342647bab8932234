/** Where `${…}` takes its values from. */
export interface ValueSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws if the file can't be read. */
  readonly readFile: (path: string) => string;
}

interface Interpolated {
  /** The text with every reference replaced, except for references with a problem. */
  readonly text: string;
  readonly problems: readonly string[];
}

const DOLLAR = /\$\$|\$\{([^}]*)(\}?)/g;
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * Replaces `${NAME}`, `${NAME:-default}` and `${file:/path}` (the content without its last newline), and `$$` by `$`.
 * Any other `$` stays. References in a value that was put in are not replaced, and a default ends at the first `}`.
 *
 * An empty variable counts as not set, as with the shell's `:-`, because in a container a forgotten variable is often
 * an empty one. `${NAME:-}` allows the empty text.
 */
export function interpolate(text: string, sources: ValueSources): Interpolated {
  const problems: string[] = [];
  const replaced = text.replace(DOLLAR, (whole: string, reference: string | undefined, end: string) => {
    if (reference === undefined) return "$";
    const { value, problem } =
      end === ""
        ? { problem: `a \${ is not closed by }; write $$ for a dollar` }
        : resolve(reference, sources);
    if (problem !== undefined) problems.push(problem);
    return value ?? whole;
  });
  return { text: replaced, problems };
}

type Resolved =
  | { readonly value: string; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

function resolve(reference: string, sources: ValueSources): Resolved {
  if (reference.startsWith("file:")) return fileContent(reference.slice("file:".length), sources);
  const [, name, fallback] = NAME.exec(reference) ?? [];
  // Don't quote the reference: the text between the braces may be a mistyped password.
  if (name === undefined || fallback?.includes("${")) {
    return { problem: `a \${…} must hold NAME, NAME:-default or file:/path; write $$ for a dollar` };
  }
  const value = Object.hasOwn(sources.env, name) ? sources.env[name] : undefined;
  if (value) return { value };
  if (fallback !== undefined) return { value: fallback };
  const state = value === "" ? "empty" : "not set";
  return {
    problem: `the environment variable ${name} is ${state}; set it where groupsync is started`,
  };
}

function fileContent(path: string, { readFile }: ValueSources): Resolved {
  if (path === "") return { problem: `a \${file:…} must name a file, like \${file:/run/secrets/api-key}` };
  let content: string;
  try {
    content = readFile(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EFBIG")
      return { problem: `the file ${path} is larger than any secret; is it the right one?` };
    const reason = code === undefined ? "" : ` (${code})`;
    return { problem: `the file ${path} cannot be read${reason}; does it exist, and may this user read it?` };
  }
  const value = content.replace(/\r?\n$/, "");
  return value === "" ? { problem: `the file ${path} is empty; write the value into it` } : { value };
}
