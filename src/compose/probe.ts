import type { Config } from "../config/config.ts";
import type { ProbedConfig } from "../core/probe/advice.ts";
import type { AnswerFacts } from "../core/probe/findings.ts";
import type { ProbePorts, ProbeSettings } from "../engine/probe.ts";
import type { Observe } from "../ports/observer.ts";
import type { Host } from "./host.ts";
import type { Opened } from "./opened.ts";
import { composeSync } from "./sync.ts";

/** What `probe` needs. */
export interface ProbeSetup {
  readonly ports: ProbePorts;
  readonly settings: ProbeSettings;
  readonly config: ProbedConfig;
}

/** Contacts nothing before its first use; the caller closes it. */
export async function composeProbe(
  config: Config,
  host: Host,
  observe: Observe,
): Promise<Opened<ProbeSetup>> {
  const { service, deletion, rotation, group } = config;
  const answers: AnswerFacts[] = [];
  const { value, close } = await composeSync(config, host, observe, {
    onAnswer: (facts) => answers.push(facts),
  });
  const { ports, settings } = value;
  return {
    value: {
      ports: { ...ports, answers },
      settings,
      config: {
        update: service.update,
        whenDeleted: deletion.when,
        rotates: rotation.maxAgeMs !== null,
        limitsRate: service.rate_limit !== undefined,
        namesDataSource: group.dataSourceId !== undefined,
      },
    },
    close,
  };
}
