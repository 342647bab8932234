import type { FailureWithHint } from "../../core/failure/sync-error.ts";
import { type Html, html } from "../../core/text/html.ts";
import { printable, shellWord } from "../../core/text/printable.ts";

/** In characters. */
const LONGEST_TEXT = 500;

/** Text from outside may be written from right to left. <bdi> keeps it from turning the text around it. */
export const outside = (text: string, maxLength = LONGEST_TEXT): Html =>
  html`<bdi>${printable(text, maxLength)}</bdi>`;

/** What is wrong, and what to do if somebody knows. */
export const failureHtml = ({ code, message, hint }: FailureWithHint, maxLength = LONGEST_TEXT): Html =>
  html`<span class="code">${printable(code)}:</span> ${outside(message, maxLength)}${hint === undefined ? null : html`; ${outside(hint, maxLength)}`}`;

/** A command to copy, `groupsync …`, with the config file that the daemon works by. */
export const copied = (command: string, configPath: string): Html =>
  html`<pre><code>${command.replace(/^groupsync\b/, () => `groupsync --config ${shellWord(configPath)}`)}</code></pre>`;
