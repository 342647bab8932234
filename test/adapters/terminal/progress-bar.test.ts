import { describe, expect, test } from "vitest";
import { progressBar } from "../../../src/adapters/terminal/progress-bar.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { anUnstored, aPlanned, aRecorded, aRotated } from "../../builders/run-events.ts";
import { aClock } from "../../fakes/set-clock.ts";

const ESC = "\u001b";
const COLOUR = new RegExp(`${ESC}\\[[\\d;]*m`, "g");
const PIECE = new RegExp(`${ESC}\\[A|${ESC}\\[K|[\\r\\n]|[^\\r\\n${ESC}]+|${ESC}`, "g");

/** The lines on a terminal after all that was written; the cursor stands at the start of the last one. */
function screenOf(written: string): string[] {
  const lines = [""];
  let row = 0;
  let column = 0;
  for (const [piece] of written.replace(COLOUR, "").matchAll(PIECE)) {
    const line = lines[row] ?? "";
    if (piece === `${ESC}[A`) row--;
    else if (piece === `${ESC}[K`) lines[row] = line.slice(0, column);
    else if (piece === "\r") column = 0;
    else if (piece === "\n") {
      row++;
      column = 0;
      lines[row] ??= "";
    } else {
      lines[row] = line.slice(0, column) + piece + line.slice(column + piece.length);
      column += piece.length;
    }
  }
  expect(column).toBe(0);
  expect(lines.slice(row).join("")).toBe("");
  return lines.slice(0, row + 1);
}

function aTerminal(columns?: number) {
  const clock = aClock();
  let written = "";
  const terminal = {
    ...(columns !== undefined && { columns }),
    write(text: string) {
      written += text;
    },
  };
  const observe = progressBar(terminal, clock);
  return {
    clock,
    tell: (...events: RunEvent[]) => events.forEach(observe),
    screen: () => screenOf(written),
    written: () => written,
  };
}

const failed = (user_group_id: string, message = "no answer"): RunEvent => ({
  kind: "failed",
  user_group_id,
  code: "TIMEOUT",
  message,
});

describe("the progress bar", () => {
  test("shows how far the run is, how fast, and how long it will take", () => {
    const { clock, tell, screen } = aTerminal();
    tell({ kind: "phase", phase: "reading" });
    expect(screen()).toEqual(["reading the source …", ""]);
    tell(aPlanned(4), { kind: "phase", phase: "applying" });
    clock.elapsed = 1_000;
    tell(aRecorded());
    expect(screen()).toEqual(["███████░░░░░░░░░░░░░░░░░░░░░ 1/4 · 60/min · 3.0 s left", ""]);
  });

  test("lets what goes wrong scroll past above it", () => {
    const { clock, tell, screen } = aTerminal();
    tell(
      { kind: "warning", code: "LEDGER_EMPTY", message: "the ledger is empty", hint: "check ledger.url" },
      aPlanned(2),
    );
    clock.elapsed = 1_000;
    tell(failed("acme"), aRecorded());
    expect(screen()).toEqual([
      "! the ledger is empty",
      "  check ledger.url",
      "✗ acme: TIMEOUT: no answer",
      "████████████████████████████ 2/2 · 120/min",
      "",
    ]);
  });

  test("shows ten failures with one code, and goes on to count them", () => {
    const { clock, tell, screen } = aTerminal();
    tell(aPlanned(20));
    for (let index = 1; index <= 13; index++) {
      clock.elapsed += 1_000;
      tell(failed(`t-${index}`));
    }
    const [lastShown, bar] = screen().slice(-3);
    expect(lastShown).toBe("✗ t-10: TIMEOUT: no answer");
    expect(bar).toMatch(/ 13\/20 · /);
  });

  test("goes on with each token that is rotated, and says of one that can't be stored what to do", () => {
    const { clock, tell, screen } = aTerminal();
    tell(aPlanned(2));
    tell(anUnstored("acme"));
    clock.elapsed = 1_000;
    tell(aRotated());
    expect(screen()).toEqual([
      "! acme: its new token is not stored, and the old one is dead; tries again in 4.0 s: customers refused the token",
      "  look at the constraints",
      "██████████████░░░░░░░░░░░░░░ 1/2 · 60/min · 1.0 s left",
      "",
    ]);
  });

  test("says why nothing happens", () => {
    const { clock, tell, screen } = aTerminal();
    tell(aPlanned(10_000));
    clock.elapsed = 10_000;
    tell(aRecorded(), { kind: "waiting", ms: 12_000, reason: "the service allows about 180/min" });
    expect(screen()[0]).toMatch(
      /^░{4,} 1\/10000 · 6\/min · waiting 12 s: the service allows about 180\/min$/,
    );
    clock.elapsed = 22_000;
    tell(aRecorded());
    expect(screen()[0]).toMatch(/^░{28} 2\/10000 · 5\/min · .* left$/);
  });

  test("says what a run waits for that is tried again and again, and nothing of a single retry", () => {
    const { tell, screen } = aTerminal();
    const retry = (attempt: number, waitMs: number): RunEvent => {
      const message = "cannot connect to dashboards.example.com";
      return { kind: "retry", user_group_id: "acme", code: "UNREACHABLE", message, attempt, waitMs };
    };
    tell(aPlanned(100), retry(2, 500));
    expect(screen()[0]).not.toContain("waiting");
    tell(retry(5, 4_000));
    expect(screen()[0]).toMatch(/ · waiting 4\.0 s: UNREACHABLE: cannot connect to dash/);
  });

  test("is drawn a few times a second, however fast the run is", () => {
    const { clock, tell, written } = aTerminal();
    tell(aPlanned(10_000));
    for (let index = 0; index < 9_999; index++) {
      clock.elapsed += 0.1;
      tell(aRecorded());
    }
    expect(written().split("\r").length).toBeLessThan(15);
  });

  test.each([0, 1, 2, 3, 20, 40, 200])("fits on a terminal of %i columns", (columns) => {
    const { clock, tell, written } = aTerminal(columns);
    tell(
      aPlanned(4),
      { kind: "rotating", tokens: 1 },
      { kind: "waiting", ms: 7_000, reason: "it asked for it" },
    );
    for (const event of [aRecorded(), failed("acme"), aRotated(), anUnstored("acme"), aRecorded()]) {
      clock.elapsed += 200;
      tell(event);
    }
    const drawn = written()
      .replace(COLOUR, "")
      .replaceAll(`${ESC}[A\r${ESC}[K`, "")
      .split("\n")
      .filter((line) => !/^([✗!]| {2})/.test(line));
    expect(Math.max(...drawn.map(({ length }) => length))).toBeLessThan(columns || 80);
  });

  test("lets no id and no message take over the terminal", () => {
    const { tell, written, screen } = aTerminal();
    const evil = `a${ESC}[2J${ESC}]0;title\u0007\r\n\u009b31m\u202eb`;
    const retry = { user_group_id: evil, code: "TIMEOUT", message: evil, attempt: 6, waitMs: 9_000 } as const;
    tell(aPlanned(3), { kind: "retry", ...retry }, failed(evil, evil), anUnstored(evil, evil), {
      kind: "warning",
      code: "GROUP_LEFT_BEHIND",
      message: evil,
      hint: evil,
    });
    tell({ kind: "waiting", ms: 9_000, reason: evil });
    expect(screen()).toHaveLength(7);
    const shown = written().replace(COLOUR, "").replaceAll(`${ESC}[A\r${ESC}[K`, "").replaceAll("\n", "");
    expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(screen()[0]).toContain("a\\u001b[2J");
  });
});
