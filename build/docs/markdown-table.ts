/** A table of Markdown, with a line break at its end. */
export const markdownTable = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  [titles, titles.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |\n`).join("");

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
