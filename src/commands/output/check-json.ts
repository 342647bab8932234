import type { CheckResult } from "../../engine/check/run-checks.ts";

export const hasFailed = (results: readonly CheckResult[]): boolean =>
  results.some(({ findings }) => findings.some(({ level }) => level === "failure"));

export function checkJson(results: readonly CheckResult[]): string {
  const object = {
    ok: !hasFailed(results),
    checks: results.map(({ name, findings }) => ({
      name,
      findings: findings.map(({ level, code, message, hint }) => ({
        level,
        code: code ?? null,
        message,
        hint: hint ?? null,
      })),
    })),
  };
  return `${JSON.stringify(object)}\n`;
}
