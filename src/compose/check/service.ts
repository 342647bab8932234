import { hostClock } from "../../adapters/host/clock.ts";
import type { Config } from "../../config/model/config.ts";
import { serviceFindings } from "../../engine/check/service.ts";
import type { Check } from "../../ports/check.ts";
import type { Host } from "../host.ts";
import { whileOpen } from "./subjects.ts";

export const serviceCheck = ({ service }: Config, host: Host): Check =>
  whileOpen(
    "service",
    host,
    async () => {
      const { HttpServiceTrial } = await import("../../adapters/service/http-service-trial.ts");
      const trial = new HttpServiceTrial(service);
      return { value: trial, close: () => trial.close() };
    },
    (trial) => serviceFindings(trial, hostClock.now()),
  );
