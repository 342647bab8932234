import { styleText } from "node:util";

const WIDTH = Math.min(process.stdout.columns ?? 100, 100);
const colours = process.stdout.isTTY === true && !process.env.NO_COLOR;

/** Styles the text on a terminal, and leaves it as it is elsewhere. */
export const paint: typeof styleText = (style, text) => (colours ? styleText(style, text) : text);

export const print = (text = ""): boolean => process.stdout.write(`${text}\n`);

export function heading(text: string): void {
  print(`\n${paint("bold", `── ${text} ${"─".repeat(Math.max(0, WIDTH - text.length - 4))}`)}\n`);
}

/** Prints a command as a user types it, before its output. */
export function typed(prompt: string, text: string): void {
  print(`${paint("cyan", prompt)} ${paint("bold", text)}`);
}

/** Rows as a database's shell shows them. The last column may hold text of any width. */
export function table(rows: readonly Readonly<Record<string, unknown>>[]): void {
  const names = Object.keys(rows[0] ?? {});
  const cells = rows.map((row) => names.map((name) => String(row[name] ?? "")));
  const widths = names.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  print(`  ${paint("dim", line(names))}`);
  for (const row of cells) print(`  ${line(row)}`);
}
