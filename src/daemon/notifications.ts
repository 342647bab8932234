import { summaryText } from "../core/report/counts.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { RunSummary } from "../ports/observer.ts";
import { type Problem, type ProblemKind, problemsOf } from "./state/problems.ts";
import type { DaemonState } from "./state/state.ts";

/** What people are told: problems that a sync or a new config shows, and whose end it shows. */
const TOLD: ReadonlySet<ProblemKind> = new Set([
  ...(["failed", "config", "silent", "clocks", "held", "refresh"] as const),
  ...(["missing", "rejected", "failing", "in_doubt", "wanted", "drift"] as const),
]);

/** How often people are reminded of a problem that lasts, in milliseconds. */
const REMINDED_AFTER = 86_400_000;

/**
 * Notifies people when a problem begins and when it ends, and once a day while one lasts; and a monitor of every good sync.
 * Everything is sent in the background.
 */
export class Notifications {
  #known: readonly Problem[] = [];
  /** When the known problems were last told, or taken as known: each message names all of them. */
  #toldAt = new Date(0);
  readonly #beats = new Set<Promise<void>>();
  /** One message after the other, because the end of a problem must not arrive before its beginning. */
  #sent = Promise.resolve();

  /** Takes what earlier runs left, of this or another instance, as known: no message tells that it has begun. */
  recall(state: DaemonState, now: Date): void {
    this.#known = problemsToSend(state, now);
    this.#toldAt = now;
  }

  beat(notifier: Notifier): void {
    const beat = notifier.beat();
    this.#beats.add(beat);
    void beat.finally(() => this.#beats.delete(beat));
  }

  /** `run` is null if no run, but a config has shown what is wrong now. */
  announce(state: DaemonState, run: RunSummary | null, notifier: Notifier, now: Date): void {
    const before = this.#known;
    const problems = problemsToSend(state, now);
    this.#known = problems;
    const began = problems.filter((problem) => !hasKind(before, problem));
    const lasting = problems.filter((problem) => hasKind(before, problem));
    const ended = before.filter((problem) => !hasKind(problems, problem));
    const isReminder = lasting.length > 0 && now.getTime() - this.#toldAt.getTime() > REMINDED_AFTER;
    if (began.length + ended.length === 0 && !isReminder) return;
    this.#toldAt = now;
    const text = messageText(state.name, { began, ended, lasting }, run);
    this.#sent = this.#sent.then(() => notifier.tell(text));
  }

  /** Resolves once everything is sent. */
  async ended(): Promise<void> {
    await Promise.all([this.#sent, ...this.#beats]);
  }
}

const problemsToSend = (state: DaemonState, now: Date): readonly Problem[] =>
  problemsOf(state, now).filter(({ kind }) => TOLD.has(kind));

const hasKind = (problems: readonly Problem[], { kind }: Problem): boolean =>
  problems.some((other) => other.kind === kind);

interface News {
  readonly began: readonly Problem[];
  readonly ended: readonly Problem[];
  readonly lasting: readonly Problem[];
}

/**
 * The text of a webhook message: what has begun and what to do, what is over, what lasts, and how the run ended. It names no
 * tenant, and errors by their codes only: their messages and hints may quote a tenant's text.
 */
function messageText(name: string, { began, ended, lasting }: News, run: RunSummary | null): string {
  const isRecovery = began.length + lasting.length === 0;
  const isReminder = began.length + ended.length === 0;
  const error = run?.error ?? null;
  const withAdvice = (problem: Problem): string[] => [sentenceOf(problem), ...adviceOf(problem, error)];
  const [first, ...others] = [
    ...began.flatMap(withAdvice),
    ...ended.map((problem) => `Over: ${sentenceOf(problem)}`),
    ...lasting.flatMap((problem) => {
      const [sentence, ...advice] = withAdvice(problem);
      return [`Still: ${sentence}`, ...(isReminder ? advice : [])];
    }),
    ...(run ? [summaryText({ ...run, error: error && { ...error, message: error.code } })] : []),
  ];
  return [`groupsync ${name}: ${isRecovery ? "recovered. " : ""}${first}`, ...others].join("\n");
}

const sentenceOf = ({ sentence, discreet = sentence }: Problem): string => discreet;

function adviceOf({ kind, advice, discreet }: Problem, error: RunSummary["error"]): readonly string[] {
  // The hint names the command that approves what is held.
  if (error?.hint !== undefined && APPROVED[error.code] === kind) return [error.hint];
  return discreet === undefined ? advice : ["The status page and the log say why, and what to do."];
}

const APPROVED: Readonly<Record<string, ProblemKind>> = { DELETIONS_HELD: "held", REFRESH_HELD: "refresh" };
