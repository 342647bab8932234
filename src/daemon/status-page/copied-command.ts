import { shellWord } from "../../core/text/printable.ts";
import { type Html, html } from "./html.ts";

/** A command to copy, `groupsync …`, with the config file that the daemon works by. */
export const copied = (command: string, configPath: string): Html =>
  html`<pre><code>${command.replace(/^groupsync\b/, () => `groupsync --config ${shellWord(configPath)}`)}</code></pre>`;
