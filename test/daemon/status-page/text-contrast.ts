import type { Page } from "playwright-core";

export interface DrawnText {
  readonly text: string;
  /** As WCAG 2 defines it: 1 to 21. */
  readonly contrast: number;
}

/** Every text on a page that can be seen, and its contrast to what is behind it: opaque colours alone are understood. */
export const drawnTexts = (page: Page): Promise<DrawnText[]> => page.evaluate<DrawnText[]>(IN_THE_PAGE);

/** The tests' types know no DOM. */
const IN_THE_PAGE = `(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = numbers(colour).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const isOpaque = (colour) => (numbers(colour)[3] ?? 1) === 1;
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (isOpaque(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (data.trim() === "" || parentElement.closest("svg") || !parentElement.checkVisibility()) continue;
    const [dark, light] = [getComputedStyle(parentElement).color, behind(parentElement)]
      .map(luminance)
      .sort((a, b) => a - b);
    texts.push({ text: data.trim(), contrast: (light + 0.05) / (dark + 0.05) });
  }
  return texts;
})()`;
