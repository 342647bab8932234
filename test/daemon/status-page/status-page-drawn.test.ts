import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { pageHeaders } from "../../../src/daemon/status-page/document.ts";
import { statusPage } from "../../../src/daemon/status-page/status-page.ts";
import { LONG, someOf } from "../../support/long.ts";
import { startChromium } from "../../support/servers/chromium.ts";
import { NOW } from "../a-healthy-daemon.ts";
import { SCENES } from "./status-page-scenes.ts";
import { TENANT_PAGES } from "./tenant-page-scenes.ts";
import { drawnTexts } from "./text-contrast.ts";

/** To be looked at after `npm run test:long`: what no assertion sees. */
const SCREENSHOTS = fileURLToPath(new URL("../../../node_modules/.cache/status-page/", import.meta.url));
mkdirSync(SCREENSHOTS, { recursive: true });

const browser = await startChromium();
afterAll(() => browser?.close());

/** The first two have both colours and both devices. */
const LOOKS = [
  { colours: "light", device: "desktop", width: 1280 },
  { colours: "dark", device: "phone", width: 390 },
  { colours: "dark", device: "desktop", width: 1280 },
  { colours: "light", device: "phone", width: 390 },
] as const;

const PAGES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(SCENES).map(([name, state]) => [name, statusPage(state, NOW)])),
  ...TENANT_PAGES,
};

describe.skipIf(browser === null).each(Object.entries(PAGES))("the page, %s", (name, html) => {
  test.each(someOf(LOOKS, 2))(
    "is drawn well, in $colours colours on a $device",
    async ({ colours, device, width }) => {
      const { page, url, requests, complaints } = await opened(html, colours, width);

      if (LONG)
        await page.screenshot({ path: `${SCREENSHOTS}${name}-${device}-${colours}.png`, fullPage: true });

      expect(complaints).toEqual([]);
      expect(requests).toEqual([url]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      const texts = await drawnTexts(page);
      expect(texts.map(({ text }) => text)).toContain("Find a tenant");
      expect(texts.filter(({ contrast }) => contrast < 4.5)).toEqual([]);
    },
  );
});

test.skipIf(browser === null)(
  "the policy lets the page's style and script in, and nothing else",
  async () => {
    const alien = "<script>document.title = 'run'</script><style>main { display: none }</style></body>";
    const { page, complaints } = await opened(PAGES.healthy!.replace("</body>", alien), "light", 1280);
    expect(complaints).toEqual([
      expect.stringContaining("inline script violates the following Content Security Policy"),
      expect.stringContaining("inline style violates the following Content Security Policy"),
    ]);
    expect(await page.title()).toBe("All is well. – groupsync default");
    expect(await page.locator("main").isVisible()).toBe(true);
  },
);

test.skipIf(browser === null)("the page is asked for anew, but not while somebody writes an id", async () => {
  const { page, url, requests } = await opened(PAGES.healthy!, "light", 1280);
  await page.clock.install();
  await page.reload();
  await page.clock.runFor("00:31");
  await expect.poll(() => requests, { timeout: 60_000 }).toEqual([url, url, url]);

  await page.locator("input").pressSequentially("a/b €");
  await page.clock.runFor("05:00");
  expect(await page.inputValue("input")).toBe("a/b €");
  await page.keyboard.press("Enter");
  await expect.poll(() => requests.slice(3), { timeout: 60_000 }).toEqual([`${url}?tenant=a%2Fb+%E2%82%AC`]);
});

/** The page as a browser gets it from the daemon. */
async function opened(
  html: string,
  colorScheme: "light" | "dark",
  width: number,
): Promise<{ page: Page; url: string; requests: string[]; complaints: string[] }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...pageHeaders });
    response.end(html);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

  const page = await browser!.newPage({ colorScheme, viewport: { width, height: 800 } });
  onTestFinished(() => page.close());
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, url, requests, complaints };
}
