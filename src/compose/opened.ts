/** One port or several, with what closes their connections. */
export interface Opened<T> {
  readonly value: T;
  close(): Promise<void>;
}

/** Runs `body`, then closes the connections, even if `body` throws. */
export async function using<T>(opened: Opened<T>, body: (value: T) => Promise<void>): Promise<void> {
  try {
    await body(opened.value);
  } finally {
    await opened.close();
  }
}
