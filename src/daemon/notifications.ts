import { summaryText } from "../core/report/counts.ts";
import type { Incident } from "../core/report/incidents.ts";
import { incidentsOfState } from "../core/report/incidents.ts";
import type { DaemonState } from "../core/report/scope-facts.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { RunSummary } from "../ports/observer.ts";

/** What people are told: incidents that a sync or a new config shows, and whose end it shows. */
const TOLD: ReadonlySet<Incident["kind"]> = new Set([
  ...(["failed", "config", "silent", "clocks", "held", "refresh"] as const),
  ...(["missing", "rejected", "failing", "in_doubt", "wanted", "drift"] as const),
]);

/** How often people are reminded of an incident that lasts, in milliseconds. */
const REMINDED_AFTER = 86_400_000;

/**
 * Notifies people when an incident begins and when it ends, and once a day while one lasts; and a monitor of every good sync.
 * Everything is sent in the background.
 */
export class Notifications {
  #known: readonly Incident[] = [];
  /** When the known incidents were last told, or taken as known: each message names all of them. */
  #toldAt = new Date(0);
  readonly #beats = new Set<Promise<void>>();
  /** One message after the other, because the end of an incident must not arrive before its beginning. */
  #sent = Promise.resolve();

  /** Takes what earlier runs left, of this or another instance, as known: no message tells that it has begun. */
  recall(state: DaemonState, now: Date): void {
    this.#known = incidentsToSend(state, now);
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
    const incidents = incidentsToSend(state, now);
    this.#known = incidents;
    const began = incidents.filter((incident) => !hasKind(before, incident));
    const lasting = incidents.filter((incident) => hasKind(before, incident));
    const ended = before.filter((incident) => !hasKind(incidents, incident));
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

const incidentsToSend = (state: DaemonState, now: Date): readonly Incident[] =>
  incidentsOfState(state, now).filter(({ kind }) => TOLD.has(kind));

const hasKind = (incidents: readonly Incident[], { kind }: Incident): boolean =>
  incidents.some((other) => other.kind === kind);

interface News {
  readonly began: readonly Incident[];
  readonly ended: readonly Incident[];
  readonly lasting: readonly Incident[];
}

/**
 * The text of a webhook message: what has begun and what to do, what is over, what lasts, and how the run ended. It names no
 * tenant, and errors by their codes only: their messages and hints may quote a tenant's text.
 */
function messageText(name: string, { began, ended, lasting }: News, run: RunSummary | null): string {
  const isRecovery = began.length + lasting.length === 0;
  const isReminder = began.length + ended.length === 0;
  const error = run?.error ?? null;
  const [first, ...others] = [
    ...began.flatMap(withAdvice),
    ...ended.map((incident) => `Over: ${sentenceOf(incident)}`),
    ...lasting.flatMap((incident) => {
      const [sentence, ...advice] = withAdvice(incident);
      return [`Still: ${sentence}`, ...(isReminder ? advice : [])];
    }),
    ...(run ? [summaryText({ ...run, error: error && { ...error, message: error.code } })] : []),
  ];
  return [`groupsync ${name}: ${isRecovery ? "recovered. " : ""}${first}`, ...others].join("\n");
}

const sentenceOf = ({ sentence, discreet = sentence }: Incident): string => discreet;

function withAdvice(incident: Incident): string[] {
  const { advice, discreet, help } = incident;
  const commands = help.map(({ when, command }) => `${when}: ${command}`);
  const all = discreet === undefined ? [...advice, ...commands] : [SEE_PAGE];
  return [sentenceOf(incident), all.join(" ")];
}

const SEE_PAGE = "The status page and the log say why, and what to do.";
