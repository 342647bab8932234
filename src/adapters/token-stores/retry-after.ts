/** What a `Retry-After` in seconds asks for, in milliseconds; undefined where there is none that can be read. */
export function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1000 : undefined;
}
