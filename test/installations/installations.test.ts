import { afterAll, test } from "vitest";
import { INSTALLATIONS } from "./installations.ts";
import { liveOn } from "./life.ts";
import { record } from "./results.ts";

const seconds = new Map<string, number>();

for (const installation of INSTALLATIONS) {
  test(installation.name, async (context) => {
    const began = performance.now();
    record(installation, await liveOn(installation, context));
    seconds.set(installation.name, (performance.now() - began) / 1000);
  });
}

afterAll(() => {
  const lines = [...seconds].map(([name, took]) => `${took.toFixed(0).padStart(5)} s  ${name}`);
  console.log(["Lived on:", ...lines].join("\n"));
});
