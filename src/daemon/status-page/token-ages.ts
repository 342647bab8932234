import type { TokenAge } from "../state/state.ts";
import { type Html, html } from "./html.ts";
import { grouped } from "./number-and-time-text.ts";

/** A histogram of the tokens' ages, as a table with a bar in each row. */
export function tokenAges(ages: readonly TokenAge[]): Html {
  const most = Math.max(1, ...ages.map(({ groups }) => groups));
  return html`<table class="histogram"><caption>Groups by the age of their token</caption>
<thead class="unseen"><tr><th scope="col">Age</th><th scope="col">Groups</th><td></td></tr></thead>
<tbody>${ages.map(
    ({ fromDays, groups }, index) =>
      html`<tr><th scope="row">${spanText(fromDays, ages[index + 1]?.fromDays)}</th><td class="figure">${grouped(groups)}</td><td><svg aria-hidden="true"><rect width="${widthOf(groups, most)}%" height="100%" rx="2"/></svg></td></tr>`,
  )}</tbody></table>`;
}

/** `under 1 day`, `1 to 7 days`, `365 days and more` */
function spanText(from: number, to: number | undefined): string {
  if (to === undefined) return `${grouped(from)} days and more`;
  return from === 0 ? `under ${to === 1 ? "1 day" : `${to} days`}` : `${from} to ${to} days`;
}

/** In percent. Even a single group gets a bar that can be seen. */
const widthOf = (groups: number, most: number): number =>
  groups === 0 ? 0 : Math.max(0.5, Math.round((groups / most) * 1000) / 10);
