/**
 * Whether it is time to read every token in every store again, `everyMs` after all were read last (`verifiedAt`). A time in
 * the future tells nothing: a clock was wrong.
 */
export function isVerificationDue(everyMs: number, verifiedAt: Date | null, now: Date): boolean {
  if (verifiedAt === null || verifiedAt > now) return true;
  return now.getTime() - verifiedAt.getTime() >= everyMs;
}
