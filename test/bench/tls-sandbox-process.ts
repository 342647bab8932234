import { serveTls } from "./tls-sandbox.ts";

/** `serveTls` in a process of its own. Arguments: certificate, key, and what a GET does to a group that is there. */
const [certFile = "", keyFile = "", existing] = process.argv.slice(2);
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const print = (text: string): void => void process.stdout.write(text);
await serveTls([certFile, keyFile, existing === "update" ? "update" : "keep"], print, stopping.signal);
