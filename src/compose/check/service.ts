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
      const { HttpServiceProbe } = await import("../../adapters/service/http-service-probe.ts");
      const probe = new HttpServiceProbe(service);
      return { value: probe, close: () => probe.close() };
    },
    (probe) => serviceFindings(probe, hostClock.now()),
  );
