import type { LedgerSnapshot, TokenAge } from "../state/state.ts";
import { type Content, type Html, html } from "./markup/html.ts";
import { grouped, groupedCount, type PageTime, roundText } from "./markup/number-and-time-text.ts";

const DAY = 86_400_000;

/** How old the tokens are, and how that stands to `rotation.max_age`. */
export const tokenAges = (ledger: LedgerSnapshot, { now }: PageTime): Html =>
  html`<p>${ageText(ledger, now)}</p>${histogram(ledger)}`;

function ageText({ status: { oldestToken }, tooOld }: LedgerSnapshot, now: Date): Content {
  const oldest =
    oldestToken && `The oldest token is ${roundText(now.getTime() - oldestToken.getTime())} old. `;
  if (tooOld === null) return html`${oldest}There is no <code>rotation.max_age</code>.`;
  const { maxAgeMs, tokens } = tooOld;
  const text =
    tokens === 0
      ? "no token is older"
      : html`<strong class="attention">${groupedCount(tokens, "token")} ${tokens === 1 ? "is" : "are"} older</strong>`;
  return html`${oldest}<code>rotation.max_age</code> is ${roundText(maxAgeMs)}: ${text}.`;
}

/** A table with a bar in each row. */
function histogram({ tokenAges: ages, tooOld }: LedgerSnapshot): Html {
  const most = Math.max(1, ...ages.map(({ groups }) => groups));
  const isTooOld = ({ fromDays }: TokenAge): boolean => tooOld !== null && fromDays * DAY >= tooOld.maxAgeMs;
  return html`<table class="histogram"><caption>Groups by the age of their token</caption>
<thead class="unseen"><tr><th scope="col">Age</th><th scope="col">Groups</th><td></td></tr></thead>
<tbody>${ages.map((age, index) => {
    const { fromDays, groups } = age;
    return html`<tr><th scope="row">${spanText(fromDays, ages[index + 1]?.fromDays)}</th><td class="figure">${grouped(groups)}</td><td><svg aria-hidden="true"><rect${isTooOld(age) ? html` class="too-old"` : null} width="${widthOf(groups, most)}%" height="100%" rx="2"/></svg></td></tr>`;
  })}</tbody></table>`;
}

/** `under 1 day`, `1 to 7 days`, `365 days and more` */
function spanText(from: number, to: number | undefined): string {
  if (to === undefined) return `${grouped(from)} days and more`;
  return from === 0 ? `under ${to === 1 ? "1 day" : `${to} days`}` : `${from} to ${to} days`;
}

/** In percent. Even a single group gets a bar that can be seen. */
const widthOf = (groups: number, most: number): number =>
  groups === 0 ? 0 : Math.max(0.5, Math.round((groups / most) * 1000) / 10);
