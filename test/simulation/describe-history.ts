import type { Fault } from "./faults.ts";
import type {
  Command,
  Happening,
  History,
  Notice,
  Place,
  Row,
  RunStep,
  SimulatedConfig,
  Step,
} from "./history.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Describes a history in words, one line for a step. */
export function describeHistory({
  place,
  config,
  tenants,
  startsInSync,
  steps,
  verifiesAtLast,
  refreshesAtLast,
  poison,
  seed,
}: History): string {
  const lines = [
    `the service ${place.existing}s existing groups, deletes by ${place.deleteBy}; ${storesInWords(place)}; ${place.isOneMachine ? "all on one machine" : "on several machines"} (seed ${seed})`,
    `config: ${configInWords(config)}`,
    ...Object.entries(tenants).map(([id, row]) => `tenant ${id} ${rowInWords(row)}`),
    ...(startsInSync ? ["a sync"] : []),
    ...steps.map(stepInWords),
    ...(poison
      ? [`then all faults end but one: group ${poison.id} ${poison.kind}`]
      : ["then all faults end"]),
    verifiesAtLast ? "the last syncs verify tokens" : "the last syncs don't verify tokens",
    ...(refreshesAtLast ? ["the last syncs ask for all groups again"] : []),
  ];
  return lines.map((line, index) => `${String(index + 1).padStart(3)}. ${line}`).join("\n");
}

const storesInWords = ({ stores }: Place): string =>
  stores.length === 1
    ? `tokens are ${stores[0]}`
    : `tokens are in two stores: the first ${stores[0]}, the last ${stores[1]}`;

function configInWords(config: Partial<SimulatedConfig>): string {
  const { update, deletion, rotation, refreshMs, concurrency, source, hasTier, tokens } = config;
  return [
    ...(update ? [`update: ${update}`] : []),
    ...(deletion
      ? [
          `deletion when ${deletion.when}, after ${duration(deletion.gracePeriodMs)}, at most ${deletion.limit.count} or ${deletion.limit.percent} %`,
        ]
      : []),
    ...(refreshMs ? [`refresh: ${duration(refreshMs)}`] : []),
    ...(rotation
      ? [
          rotation.maxAgeMs === null
            ? "no rotation"
            : `rotation after ${duration(rotation.maxAgeMs)}${rotation.maxPerRun === null ? "" : `, ${rotation.maxPerRun} a run`}`,
        ]
      : []),
    ...(concurrency ? [`concurrency ${concurrency}`] : []),
    ...(source ? [`source ${source}`] : []),
    ...(hasTier === undefined ? [] : [hasTier ? "a rule for tier" : "no rule for tier"]),
    ...(tokens ? [tokensInWords(tokens)] : []),
  ].join("; ");
}

function tokensInWords(tokens: SimulatedConfig["tokens"]): string {
  switch (tokens) {
    case "everywhere":
      return "tokens in all stores";
    case "another scope's":
      return "tokens in another scope's store";
    case "first":
    case "last":
      return `tokens in the ${tokens} store`;
  }
}

function rowInWords(row: Row): string {
  switch (row.kind) {
    case "active":
      return `has name ${row.name}, mapping ${row.mapping}, plan ${row.plan}`;
    case "gone":
      return "is gone";
    case "flagged":
      return "is flagged as removed";
    case "not ready":
      return "is not ready";
    case "rejected":
      return "has no mapping";
    case "twice":
      return "is there twice";
  }
}

function stepInWords(step: Step): string {
  switch (step.kind) {
    case "row":
      return `tenant ${step.id} ${rowInWords(step.row)}`;
    case "table":
      return step.isEmpty ? "the table is empty" : "the table has its rows (again)";
    case "config":
      return `config: ${configInWords(step.change)}`;
    case "meddling":
      return `somebody else: ${step.what} (${step.id})`;
    case "tampering":
      return `somebody else: ${step.what} (${step.id}, in the ${step.store} store)`;
    case "loss":
      return `the ${step.store} store loses all tokens`;
    case "time":
      return `${duration(step.ms)} pass`;
    case "clocks":
      return `the clocks on the walls are set to ${duration(step.ms)} from the true time`;
    case "run":
      return runInWords(step);
  }
}

function runInWords({ command, faults, latencyMs, meanwhileMs, handsOver, session }: RunStep): string {
  return [
    commandInWords(command),
    ...(session ? [`serves single tenants beside it and for ${duration(session.lastsMs)} after it`] : []),
    ...(handsOver ? ["hands the lease over"] : []),
    ...(latencyMs > 0 ? [`latencies up to ${duration(latencyMs)}`] : []),
    ...faults.map(faultInWords),
    ...(session?.happenings.map(happeningInWords) ?? []),
    ...(meanwhileMs === null ? [] : [`after ${duration(meanwhileMs)}, meanwhile:`]),
  ].join("; ");
}

function happeningInWords({ at, id, row, notices }: Happening): string {
  const what = row === null ? "stays as it is" : rowInWords(row);
  const heard = notices.length === 0 ? "no notice" : notices.map(noticeInWords).join(" and ");
  return `at point ${at} tenant ${id} ${what} (${heard})`;
}

const noticeInWords = ({ way, afterMs }: Notice): string => `${way} after ${duration(afterMs)}`;

function commandInWords(command: Command): string {
  if (command.name === "sync") {
    const only = command.only?.map((id) => ` --only ${id}`).join("") ?? "";
    return `sync${only}${command.approves ? " --approve-deletions (what status shows)" : ""}${command.verifies ? " --verify-tokens" : ""}${command.refreshes ? " --refresh" : ""}`;
  }
  const { selection } = command;
  switch (selection.kind) {
    case "all":
      return "rotate --all";
    case "older than":
      return `rotate --older-than ${duration(selection.ageMs)}`;
    case "only":
      return `rotate --only ${[...selection.ids].join(" --only ")}`;
  }
}

function faultInWords(fault: Fault): string {
  switch (fault.kind) {
    case "dies":
      return `it is killed before point ${fault.at + 1}`;
    case "is told to stop":
      return `it is told to stop at point ${fault.at}`;
    case "pauses":
      return `${fault.isAsleep ? "its machine sleeps" : "it stands still"} for ${duration(fault.ms)} from point ${fault.at}`;
    case "clock jumps":
      return `its clock jumps by ${duration(fault.ms)} at point ${fault.at}`;
    case "fails": {
      const calls = fault.times === 1 ? `call ${fault.from}` : `${fault.times} calls from ${fault.from} on`;
      const effect = fault.when === "before" ? "before it took effect" : "after it took effect";
      const port = fault.port === "store" ? `${fault.store} store` : fault.port;
      return `the ${port} fails: ${calls}, ${effect}, ${fault.code}`;
    }
    case "refuses":
      return `the ${fault.store} store takes no token of ${fault.id} for ${duration(fault.ms)}`;
    case "keeps":
      return `the ${fault.store} store gives up no token of ${fault.id} for ${duration(fault.ms)}`;
  }
}

function duration(ms: number): string {
  if (Math.abs(ms) < SECOND) return `${ms} ms`;
  return Math.abs(ms) < HOUR ? `${ms / SECOND} s` : `${ms / HOUR} h`;
}
