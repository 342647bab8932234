import type { Observe } from "../../ports/observer.ts";

/**
 * Turns the warnings of Node.js and of packages (`process.on("warning")`) into warnings of the run, each once. Node.js
 * itself would print several lines between those of the log.
 */
export function processWarnings(observe: Observe): (warning: Error) => void {
  const told = new Set<string>();
  return ({ name, message }) => {
    // Some packages write the kind of the warning into the message and not into the name.
    const text = /^\w*Warning: /.test(message) ? message : `${name}: ${message}`;
    const line = withoutCredentials(text.replace(/\s+/g, " ").trim());
    if (told.has(line)) return;
    told.add(line);
    observe({ kind: "warning", code: "PROCESS_WARNING", message: `Node.js warns: ${line}` });
  };
}

/** A warning about an odd url quotes the url with its password. */
const withoutCredentials = (text: string): string => text.replace(/(\w+:\/\/)\S*@/g, "$1…@");
