/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  /** The number of its first line, counted from 1. */
  readonly line: number;
  /** In capitals: `COPY`. */
  readonly name: string;
  /** `--from=build` is `from` → `build`. */
  readonly flags: ReadonlyMap<string, string>;
  /** What follows the flags. */
  readonly text: string;
}

/** Reads the instructions of a Dockerfile. Here-documents and parser directives are not understood. */
export function parseDockerfile(text: string): Instruction[] {
  const instructions: Instruction[] = [];
  let line = 0;
  let begun: { line: number; text: string } | undefined;
  for (const raw of text.split("\n")) {
    line++;
    // A comment between continued lines doesn't belong to the instruction.
    if (/^\s*(#|$)/.test(raw)) continue;
    begun ??= { line, text: "" };
    if (raw.endsWith("\\")) {
      begun.text += raw.slice(0, -1);
    } else {
      instructions.push(instruction(begun.line, begun.text + raw));
      begun = undefined;
    }
  }
  if (begun) throw new Error(`line ${begun.line}: the file ends where a line goes on`);
  return instructions;
}

function instruction(line: number, whole: string): Instruction {
  const [, name = "", flags = "", text = ""] = /^\s*(\w+)\s+((?:--\S+\s+)*)(.*)$/.exec(whole) ?? [];
  if (name === "" || text.includes("<<")) throw new Error(`line ${line} is not understood: ${whole}`);
  return {
    line,
    name: name.toUpperCase(),
    flags: new Map([...flags.matchAll(/--([\w-]+)=(\S+)/g)].map(([, key = "", value = ""]) => [key, value])),
    text: text.trim(),
  };
}

/** The command of `["a", "b"]`; any other text is a command for the shell. */
export function commandOf(text: string): string[] {
  return text.startsWith("[") ? (JSON.parse(text) as string[]) : ["/bin/sh", "-c", text];
}

/** `a=b c="d e"`, with the variables in the values replaced. */
export function pairsOf(text: string, variables: ReadonlyMap<string, string>): [string, string][] {
  return [...text.matchAll(/([\w.-]+)=("(?:[^"\\]|\\.)*"|\S*)/g)].map(([, key = "", value = ""]) => [
    key,
    expand(value.replace(/^"(.*)"$/, "$1"), variables),
  ]);
}

/** Replaces `$NAME` and `${NAME}`. A variable that is not set becomes the empty text. */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(
    /\$(?:\{(\w+)\}|(\w+))/g,
    (_, braced?: string, bare?: string) => variables.get(braced ?? bare ?? "") ?? "",
  );
}
