/**
 * The words of a name in small letters, each in the singular: `CustomerIDs`, `customer_ids` and `Customer ids` are
 * `customer id`.
 */
export const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map(singular);

/** Enough for the words that matter here. `address`, `status` and `is` are no plurals. */
function singular(word: string): string {
  if (word.length < 3 || /(ss|us|is)$/.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(s|x|ch)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

/** Whether these words stand in the name one behind the other, also if they are written as one word. */
export const hasWords = (name: string, words: string): boolean => {
  const text = wordsOf(name).join(" ");
  return ` ${text} `.includes(` ${words} `) || ` ${text} `.includes(` ${words.replaceAll(" ", "")} `);
};
