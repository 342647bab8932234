/** Makes the text of a region. The words behind its name are its arguments; they may take several lines. */
export type Generator = (...words: readonly string[]) => string | Promise<string>;

/** Between these two comments stands what a generator has made. */
const REGION = /^<!-- generated: ([^>]+?) -->\n[\s\S]*?^<!-- end -->$/gm;
const BEGINNING = /^<!-- generated:/gm;

/** A page with the text of each region made anew. Throws if a region has no end, or nobody makes its text. */
export async function regenerated(
  page: string,
  generators: Readonly<Record<string, Generator>>,
): Promise<string> {
  const regions = [...page.matchAll(REGION)];
  const begun = page.match(BEGINNING)?.length ?? 0;
  if (begun !== regions.length)
    throw new Error(`${begun} regions begin, and ${regions.length} end with <!-- end -->`);
  const texts: string[] = [];
  for (const [, words = ""] of regions) {
    const [name = "", ...rest] = words.split(/\s+/);
    const generator = generators[name];
    if (generator === undefined) throw new Error(`nobody makes the text of <!-- generated: ${words} -->`);
    texts.push(`<!-- generated: ${words} -->\n\n${(await generator(...rest)).trim()}\n\n<!-- end -->`);
  }
  return page.replace(REGION, () => texts.shift() ?? "");
}
