import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { DatabaseKind } from "./databases/database-server.ts";
import { KIND_NAMES } from "./documented-sql.ts";
import { blocksIn, pageText } from "./pages.ts";

type Language = "js" | "python" | "sql";

/** A program that evaluates each line of its input, and prints a line of JSON for it. */
interface Interpreter {
  readonly program: string;
  readonly args: (code: string) => readonly string[];
  /** Behind the code of a page. */
  readonly loop: string;
}

export interface DocumentedProgram {
  /** Evaluates an expression beside the code of the page. Rejects with the name of the error that this throws. */
  ask(expression: string): Promise<unknown>;
}

export const NODE: Interpreter = {
  program: process.execPath,
  args: (code) => ["--input-type=module", "--eval", code],
  loop: `
    import { createInterface } from "node:readline";
    for await (const line of createInterface({ input: process.stdin })) {
      const answer = await (async () => eval(line))().then(
        (value) => ({ value }),
        (error) => ({ error: error.constructor.name }),
      );
      console.log(JSON.stringify(answer));
    }`,
};

export const python = (program: string): Interpreter => ({
  program,
  args: (code) => ["-c", code],
  loop: `
import json, sys
while line := sys.stdin.readline():
    try:
        answer = {"value": eval(line)}
    except Exception as error:
        answer = {"error": type(error).__name__}
    print(json.dumps(answer), flush=True)
`,
});

/** The blocks of a page in one language. With a kind of database, those for all kinds and those that are for this one. */
export function documentedBlocks(page: string, language: Language, kind?: DatabaseKind): string[] {
  const others = Object.entries(KIND_NAMES).flatMap(([other, name]) =>
    other === kind ? [] : [`// ${name}\n`],
  );
  return blocksIn(pageText(page), language).filter(
    (code) => kind === undefined || !others.some((comment) => code.startsWith(comment)),
  );
}

/** Starts a program that lives as long as the running test. */
export function startDocumented(
  { program, args, loop }: Interpreter,
  code: readonly string[],
  env: Readonly<Record<string, string>>,
): DocumentedProgram {
  const child = spawn(program, args([...code, loop].join("\n")), { env: { ...process.env, ...env } });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => child.once("close", resolve));
    if (child.exitCode === null && child.kill()) await closed;
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(expression) {
      child.stdin.write(`${expression.replaceAll("\n", " ")}\n`);
      const { done, value: line = "" } = await answers.next();
      if (done) throw new Error(`the program has ended: ${said}`);
      const { value, error } = JSON.parse(line) as { readonly value?: unknown; readonly error?: string };
      if (error !== undefined) throw new Error(error);
      return value;
    },
  };
}
