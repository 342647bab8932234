import { checkAfterFaults } from "./after-faults.ts";
import { checkAfterRewind } from "./after-rewind.ts";
import type { History, RunStep, Step } from "./history.ts";
import { SimulatedWorld } from "./simulated-world.ts";

/** The longest a run may take, in milliseconds; it is killed then. */
const LONGEST_RUN = 6 * 3_600_000;

/** Plays a history with the whole engine, and ends its faults. Rejects if a guarantee doesn't hold, and says which and why. */
export async function play(history: History): Promise<void> {
  const world = new SimulatedWorld(history);
  try {
    if (history.startsInSync) await takeStep(SYNC, world);
    const { rewind } = history;
    let restore: (() => void) | undefined;
    for (const [n, step] of history.steps.entries()) {
      if (n === rewind?.to) restore = world.backup(rewind.withTokens);
      await takeStep(step, world);
      insistOn(world);
    }
    for (const program of world.programs) await program.endsWithin(LONGEST_RUN);
    insistOn(world);
    await checkAfterFaults(world, history);
    insistOn(world);
    if (restore) await checkAfterRewind(world, restore);
    insistOn(world);
  } finally {
    for (const program of world.programs) program.kill();
  }
}

const SYNC: RunStep = {
  kind: "run",
  command: { name: "sync", only: null, approves: false, verifies: false, refreshes: false },
  faults: [],
  latencyMs: 0,
  meanwhileMs: null,
};

function insistOn({ watch }: SimulatedWorld): void {
  watch.looksAround();
  if (watch.breaches.length > 0) throw new Error(watch.breaches.join("\n"));
}

async function takeStep(step: Step, world: SimulatedWorld): Promise<void> {
  switch (step.kind) {
    case "row":
      return world.setRow(step.id, step.row);
    case "table":
      return world.setEmpty(step.isEmpty);
    case "config":
      return world.configure(step.change);
    case "meddling":
      return world.meddle(step.what, step.id);
    case "tampering":
      return world.tamper(step.what, step.id, step.store);
    case "loss":
      return world.loseTokens(step.store);
    case "poison":
      return world.setPoison(step.poison);
    case "time":
      return world.time.sleep(step.ms);
    case "clocks":
      world.clockOffset = step.ms;
      return;
    case "run":
      return startRun(step, world);
  }
}

async function startRun(
  { command, faults, latencyMs, meanwhileMs, handsOver, session }: RunStep,
  world: SimulatedWorld,
): Promise<void> {
  const approval = command.name === "sync" && command.approves ? await world.approval() : undefined;
  const refreshApproval =
    command.name === "sync" && command.approves ? await world.refreshApproval() : undefined;
  const program = world.start({
    ...{ command, faults, latencyMs, handsOver, session },
    ...{ approval, refreshApproval },
  });
  if (meanwhileMs === null) await program.endsWithin(LONGEST_RUN);
  else await world.time.sleep(meanwhileMs);
}
