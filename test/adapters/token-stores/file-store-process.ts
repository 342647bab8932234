import { SecretStoreFailure } from "../../../src/adapters/token-stores/secret-store.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { aFileStore } from "./a-folder.ts";

// A process of its own, to be killed or to see other mounts. Prints a line of JSON for each thing that it has done.
const [directory = "", ...steps] = process.argv.slice(2);
const store = aFileStore(directory);

for (const step of steps) {
  const [name = "", size = "1"] = step.split("=");
  try {
    await store.prepare();
    if (size === "endless") await writeForEver(name);
    await store.put(name, new Secret("x".repeat(Number(size))), () => false);
    console.log(JSON.stringify({ done: step }));
  } catch (error) {
    if (!(error instanceof SecretStoreFailure)) throw error;
    const { problem, message, hint } = error;
    console.log(JSON.stringify({ problem, message, hint }));
  }
}

/** Long enough to be seen half written: a letter, a hundred thousand times. */
async function writeForEver(name: string): Promise<never> {
  for (let n = 0; ; n++) {
    const letter = String.fromCharCode("a".charCodeAt(0) + (n % 26));
    await store.put(name, new Secret(letter.repeat(100_000)), () => false);
    if (n === 0) console.log(JSON.stringify({ done: "begun" }));
  }
}
