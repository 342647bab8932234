import type { Config } from "../../config/model/config.ts";
import { describeSource } from "../../config/model/database-description.ts";
import { channelFindings, columnFindings } from "../../engine/check/changes.ts";
import { sourceFindings, tableBefore } from "../../engine/check/source.ts";
import type { Check } from "../../ports/check.ts";
import { changeChannel, changeFeed } from "../changes.ts";
import type { Host } from "../host.ts";
import { openSource } from "../tenant-source.ts";
import { check, checkedDatabase, whileOpen } from "./subjects.ts";

/** The customer's database: the tenants, and the ways of noticing changes that the config names. */
export function sourceChecks(config: Config, host: Host): readonly Check[] {
  const { source, group } = config;
  const description = describeSource(source, group.id);
  const open = (own: Host) => openSource(config, own);
  const { column, channel } = source.changes ?? {};
  return [
    whileOpen("source", host, open, (ports, stop) => {
      const database = checkedDatabase(source.url);
      return sourceFindings(ports, { rules: group, source: description, database }, stop);
    }),
    ...(column === undefined
      ? []
      : [
          whileOpen("changes", host, open, async function* (ports, stop) {
            const before = await tableBefore(ports, { source: description });
            yield* columnFindings(await changeFeed(config, column.name), before, stop);
          }),
        ]),
    ...(channel === undefined
      ? []
      : [
          check("changes", async function* (stop) {
            yield* channelFindings(await changeChannel(config, channel), stop);
          }),
        ]),
  ];
}
