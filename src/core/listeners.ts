import { describe } from "./errors.ts";

/**
 * Tells each listener of every event. What a listener throws ends nothing: the others are told all the same, and
 * `complain` gets one line for the first time that this listener throws.
 */
export function toEach<E>(
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
        tryTo(() => complain(oneLine(describe(error))));
      }
    }
  };
}

/** Whoever could complain may be what failed. */
function tryTo(act: () => void): void {
  try {
    act();
  } catch {}
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");
