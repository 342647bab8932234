import { describe } from "../failure/sync-error.ts";

/**
 * Sends every event to each listener. If a listener throws, the others still get the event, and `complain` gets one line,
 * once for each listener.
 */
export function fanOut<E>(
  listeners: readonly ((event: E) => void)[],
  complain: (problem: string) => void,
): (event: E) => void {
  const failed = new Set<unknown>();
  return (event) => {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        if (failed.has(listener)) continue;
        failed.add(listener);
        try {
          complain(oneLine(describe(error)));
        } catch {
          // The events have to go on all the same.
        }
      }
    }
  };
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");
