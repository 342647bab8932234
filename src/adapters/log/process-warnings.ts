import type { Observe } from "../../ports/observer.ts";

/**
 * Tells what Node.js and the packages warn of (`process.on("warning")`) as a run's own warnings are told, each once.
 * Node.js itself would print it in several lines between those of the log.
 */
export function processWarnings(observe: Observe): (warning: Error) => void {
  const told = new Set<string>();
  return ({ name, message }) => {
    // Some packages write the kind into the message, and leave the name as it is.
    const text = /^\w*Warning: /.test(message) ? message : `${name}: ${message}`;
    const line = withoutCredentials(text.replace(/\s+/g, " ").trim());
    if (told.has(line)) return;
    told.add(line);
    observe({ kind: "warning", code: "PROCESS_WARNING", message: `Node.js warns: ${line}` });
  };
}

/** Node.js warns of a url that it may soon refuse, and quotes it. */
const withoutCredentials = (text: string): string => text.replace(/(\w+:\/\/)\S*@/g, "$1…@");
