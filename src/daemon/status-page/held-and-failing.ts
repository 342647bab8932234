import {
  type RejectionReason,
  type RememberedRejection,
  reasonsOf,
  rejectedRows,
} from "../../core/group/rejections.ts";
import type { FailingGroup } from "../../core/report/failing-group.ts";
import { printable, printableId } from "../../core/text/printable.ts";
import type { HeldGroups } from "../../ports/ledger/status.ts";
import { type Content, type Html, html } from "./html.ts";
import { briefMoment, grouped, groupedCount, roundText } from "./number-and-time-text.ts";

const SHOWN_HELD = 10;
const SHOWN_FAILURES = 20;
const SHOWN_REASONS = 20;
const SHOWN_IDS = 10;
const LONGEST_MESSAGE = 500;

/** The removals that wait for approval, and the command that approves them. */
export function heldSection({ count, code, groups }: HeldGroups): Html {
  const shown = groups.slice(0, SHOWN_HELD);
  return html`<section aria-labelledby="held"><h2 id="held">Held ${badge(count)}</h2>
<p>${groupedCount(count, "removal")} ${count === 1 ? "waits" : "wait"} for approval. If they are meant to go:</p>
<pre><code>groupsync ${code === null ? "plan" : `sync --approve-deletions ${code}`}</code></pre>
<p class="note">${code === null ? "It shows the code that approves them. " : ""}The code approves exactly these, once. The page itself changes nothing.</p>
<ul class="held-groups">${shown.map(
    ({ kind, user_group_id }) => html`<li>${kind} ${outside(printableId(user_group_id))}</li>`,
  )}${more(count - shown.length, "groupsync plan", "lists them")}</ul></section>`;
}

/** The groups that fail, with the reason and the time of the next try. */
export function failingSection(failing: readonly FailingGroup[], count: number, now: Date): Html {
  const shown = failing.slice(0, SHOWN_FAILURES);
  return html`<section aria-labelledby="failing"><h2 id="failing">Failing ${badge(count)}</h2>
<ul class="failing-groups">${shown.map((group) => failure(group, now))}${more(count - shown.length, "groupsync status --json", "lists more")}</ul></section>`;
}

const failure = ({ user_group_id, code, message, count, since, retryAt }: FailingGroup, now: Date): Html =>
  html`<li><h3>${outside(printableId(user_group_id))}</h3>
<p><span class="code">${printable(code)}:</span> ${outside(printable(message, LONGEST_MESSAGE))}</p>
<p class="note">${grouped(count)} in a row for ${roundText(now.getTime() - since.getTime())}, next try ${retryAt <= now ? "with the next sync" : briefMoment(retryAt, now)}</p></li>`;

/** The rows that can't be used, by their reasons. */
export function rejectedSection(rejected: readonly RememberedRejection[], now: Date): Html {
  const reasons = reasonsOf(rejected);
  const shown = reasons.slice(0, SHOWN_REASONS);
  return html`<section aria-labelledby="rejected"><h2 id="rejected">Rejected ${badge(rejectedRows(rejected))}</h2>
<p class="note">No group can be made of these rows. Groups that are there stay as they are until the rows are corrected.</p>
<ul class="failing-groups">${shown.map((reason) => rejectionReason(reason, now))}${more(reasons.length - shown.length, "groupsync status --json", "lists more")}</ul></section>`;
}

function rejectionReason({ code, message, rows, since, ids }: RejectionReason, now: Date): Html {
  const named = ids.slice(0, SHOWN_IDS);
  const others = named.length > 0 && rows > named.length ? ` and ${grouped(rows - named.length)} more` : "";
  return html`<li><h3>${groupedCount(rows, "row")}</h3>
<p><span class="code">${printable(code)}:</span> ${outside(printable(message, LONGEST_MESSAGE))}</p>
<p class="note">${named.map((id, index) => html`${index > 0 ? ", " : ""}${outside(printableId(id))}`)}${others}${named.length > 0 ? "; " : ""}for ${roundText(now.getTime() - since.getTime())}</p></li>`;
}

const badge = (count: number): Html => html`<span class="count">${grouped(count)}</span>`;

/** Text from outside may be written from right to left. <bdi> keeps it from turning the text around it. */
const outside = (text: string): Html => html`<bdi>${text}</bdi>`;

const more = (count: number, command: string, does: string): Content =>
  count > 0
    ? html`<li class="more">… and ${grouped(count)} more: <code>${command}</code> ${does}</li>`
    : null;
