import { approveRefreshCommand, type RefreshHold } from "../../core/drift/refresh.ts";
import type { FailingGroup } from "../../core/failure/group-failures.ts";
import { remedyOf } from "../../core/failure/remedies.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import {
  type RejectionReason,
  type RememberedRejection,
  reasonsOf,
  rejectedRows,
} from "../../core/group/rejections.ts";
import { asSentence, printable, printableId } from "../../core/text/printable.ts";
import type { HeldGroups } from "../../engine/ledger-status.ts";
import { type Content, copied, failureHtml, type Html, html, outside } from "./html.ts";
import { briefMoment, grouped, groupedCount, type PageTime, roundText } from "./number-and-time-text.ts";

/** How many of each list the page has. */
const SHOWN = 10;

/** The names of groups, by their ids. */
type Names = ReadonlyMap<string, string>;

/** The removals that wait for approval, and the command that approves them. */
export function heldSection({ count, code, groups }: HeldGroups, names: Names, configPath: string): Html {
  const shown = groups.slice(0, SHOWN);
  const command = code === null ? "groupsync plan" : `groupsync sync --approve-deletions ${code}`;
  return html`<section aria-labelledby="held"><h2 id="held">Held ${badge(count)}</h2>
<p>${groupedCount(count, "removal")} ${count === 1 ? "waits" : "wait"} for approval. If they are meant to go:</p>
${copied(command, configPath)}
<p class="note">${code === null ? "It shows the code that approves them. " : ""}The code approves exactly these, once. The page itself changes nothing.</p>
<ul class="held-groups">${shown.map(
    ({ kind, user_group_id }) => html`<li>${kind} ${tenant(user_group_id, names)}</li>`,
  )}${more(count - shown.length, "groupsync plan", "lists them")}</ul></section>`;
}

/** How many groups were gone at the service or had another token, and the command by which the refresh goes on. */
export const heldRefreshSection = ({ changed, approval }: RefreshHold, configPath: string): Html =>
  html`<section aria-labelledby="refresh"><h2 id="refresh">Held refresh ${badge(changed)}</h2>
<p>${groupedCount(changed, "group")} ${changed === 1 ? "was" : "were"} gone at the service or had another token. If the refresh is to go on:</p>
${copied(approveRefreshCommand(approval), configPath)}
<p class="note">The code is good until a refresh finds another such group. The page itself changes nothing.</p></section>`;

/** The groups that fail, with the reason and the time of the next try. */
export function failingSection(
  failing: readonly FailingGroup[],
  count: number,
  names: Names,
  at: PageTime,
): Html {
  const shown = failing.slice(0, SHOWN);
  return html`<section aria-labelledby="failing"><h2 id="failing">Failing ${badge(count)}</h2>
<ul class="failing-groups">${shown.map((group) => failure(group, names, at))}${more(count - shown.length, "groupsync status --json", "lists more")}</ul></section>`;
}

function failure(group: FailingGroup, names: Names, at: PageTime): Html {
  const { user_group_id, count, since, retryAt } = group;
  const next = retryAt <= at.now ? "with the next sync" : briefMoment(retryAt, at);
  const note = html`${grouped(count)} in a row for ${roundText(at.now.getTime() - since.getTime())}, next try ${next}`;
  return failingItem(tenant(user_group_id, names), group, note);
}

/** What fails, why, and what helps. */
const failingItem = (title: Content, { code, message }: Failure, note: Content): Html =>
  html`<li><h3>${title}</h3>
<p>${failureHtml({ code, message })}</p>
<p>${asSentence(remedyOf(code))}</p>
<p class="note">${note}</p></li>`;

/** The rows that can't be used, by their reasons. */
export function rejectedSection(
  rejected: readonly RememberedRejection[],
  names: Names,
  { now }: PageTime,
): Html {
  const reasons = reasonsOf(rejected);
  const shown = reasons.slice(0, SHOWN);
  return html`<section aria-labelledby="rejected"><h2 id="rejected">Rejected ${badge(rejectedRows(rejected))}</h2>
<p class="note">No group can be made of these rows. Groups that are there stay as they are until the rows are corrected.</p>
<ul class="failing-groups">${shown.map((reason) => rejectionReason(reason, names, now))}${more(reasons.length - shown.length, "groupsync status --json", "lists more")}</ul></section>`;
}

function rejectionReason(reason: RejectionReason, names: Names, now: Date): Html {
  const { rows, since, ids } = reason;
  const named = ids.slice(0, SHOWN);
  const others = named.length > 0 && rows > named.length ? ` and ${grouped(rows - named.length)} more` : "";
  const note = html`${named.map((id, index) => html`${index > 0 ? ", " : ""}${tenant(id, names)}`)}${others}${named.length > 0 ? "; " : ""}for ${roundText(now.getTime() - since.getTime())}`;
  return failingItem(groupedCount(rows, "row"), reason, note);
}

const badge = (count: number): Html => html`<span class="count">${grouped(count)}</span>`;

/** An id that leads to what is known of the tenant, and the name of its group. */
function tenant(id: string | null, names: Names): Html {
  if (id === null) return html`${printableId(id)}`;
  const name = names.get(id);
  const link = html`<a class="id" href="?${new URLSearchParams({ tenant: id }).toString()}">${outside(printableId(id))}</a>`;
  return name === undefined ? link : html`${link} <bdi class="name">${printable(name)}</bdi>`;
}

const more = (count: number, command: string, does: string): Content =>
  count > 0
    ? html`<li class="more">… and ${grouped(count)} more: <code>${command}</code> ${does}</li>`
    : null;
