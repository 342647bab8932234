/** Whether tokens lie in just these places: each is a line of words, and they are sorted. */
export const areSamePlaces = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((place, index) => place === b[index]);

/** Sorted likewise, with tables by their names in small letters. */
export const inSmallLetters = (places: readonly string[]): readonly string[] =>
  places.map((place) => (place.startsWith("table ") ? place.toLowerCase() : place)).toSorted();
