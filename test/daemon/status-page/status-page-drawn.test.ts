import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { pageHeaders } from "../../../src/daemon/status-page/document.ts";
import { statusPage } from "../../../src/daemon/status-page/status-page.ts";
import { someOf } from "../../support/long.ts";
import { startChromium } from "../../support/servers/chromium.ts";
import { NOW } from "../a-healthy-daemon.ts";
import { SCENES } from "./status-page-scenes.ts";
import { TENANT_PAGES } from "./tenant-page-scenes.ts";
import { drawnTexts } from "./text-contrast.ts";

/** To be looked at: what no assertion sees. The test leaves the pictures there. */
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

      await page.screenshot({ path: `${SCREENSHOTS}${name}-${device}-${colours}.png`, fullPage: true });

      expect(complaints).toEqual([]);
      expect(requests).toEqual([url]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      const texts = await drawnTexts(page);
      expect(texts.map(({ text }) => text)).toContain("Find a tenant");
      expect(texts.filter(({ contrast }) => contrast < 4.5)).toEqual([]);
      expect(await page.evaluate(SMALL_TARGETS)).toEqual([]);
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

const ON_BROWSER = test.skipIf(browser === null);

ON_BROWSER("a healthy page fits one and a half screens of a phone", async () => {
  const { page } = await opened(PAGES.healthy!, "light", 390);
  expect(await page.evaluate("document.documentElement.scrollHeight")).toBeLessThanOrEqual(1_270);
});

ON_BROWSER("the page renews itself in place: what is open, written, focused and scrolled stays", async () => {
  const { page, shown, requests, url } = await opened(PAGES.everything!, "light", 390, true);
  await page.locator("#more summary").click();
  await page.locator("input").pressSequentially("a/b €");
  await page.evaluate("runs.isTheSame = true");
  await page.locator("#failing a").first().focus();
  expect(await page.evaluate("scrollY")).toBeGreaterThan(100);
  const place = "Math.round(document.activeElement.getBoundingClientRect().top)";
  const before = await page.evaluate(place);

  shown.html = PAGES.everything!.replaceAll("sync failed", "sync is well again");
  await page.clock.runFor("00:31");
  await expect.poll(() => page.locator("#runs").innerText(), PATIENT).toContain("sync is well again");
  expect(requests).toEqual([url, url]);
  expect(await page.locator("#more").getAttribute("open")).not.toBeNull();
  expect(await page.inputValue("input")).toBe("a/b €");
  expect(await page.evaluate(place)).toBe(before);
  expect(await page.evaluate("document.activeElement.matches('#failing a')")).toBe(true);
  expect(await page.evaluate("runs.isTheSame")).toBe(true);

  shown.html = PAGES.healthy!;
  await page.clock.runFor("00:31");
  await expect.poll(() => page.locator("h1").innerText(), PATIENT).toBe("All is well.");
  expect(await page.title()).toBe("All is well. – groupsync default");
  expect(await page.locator(".headline").count()).toBe(1);
  expect(await page.locator("#more").getAttribute("open")).not.toBeNull();
  await page.locator("input").press("Enter");
  await expect.poll(() => requests.at(-1), PATIENT).toBe(`${url}?tenant=a%2Fb+%E2%82%AC`);
});

ON_BROWSER("the page says for how long it could not renew itself", async () => {
  const { page, shown } = await opened(PAGES.healthy!, "light", 1280, true);
  const late = page.locator("#late");
  expect(await late.isVisible()).toBe(false);
  shown.html = null;
  await page.clock.runFor("00:41");
  await expect.poll(() => late.innerText(), PATIENT).toMatch(/^Not updated for 4\d s/);
  shown.html = PAGES.healthy!;
  await page.clock.runFor("00:31");
  await expect.poll(() => late.isVisible(), PATIENT).toBe(false);
});

ON_BROWSER("a button copies its command, and the first key leads to the content", async () => {
  const { page } = await opened(PAGES.everything!, "light", 1280);
  const { copied, button } = {
    copied: page.locator(".copied code").first(),
    button: page.locator(".copy").first(),
  };
  await button.click();
  expect(await button.innerText()).toBe("Copied");
  expect(await page.evaluate("getSelection().toString()")).toBe(await copied.innerText());
  await page.reload();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
});

const PATIENT = { timeout: 60_000 };

/** What can be clicked, and is smaller than a finger needs. */
const SMALL_TARGETS = `[...document.querySelectorAll("a:not(.skip), button, input, summary")]
  .filter((element) => element.checkVisibility())
  .map((element) => [element.outerHTML.slice(0, 80), element.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 24 || height < 24)`;

/** The page as a browser gets it from the daemon. */
async function opened(
  html: string,
  colorScheme: "light" | "dark",
  width: number,
  hasOwnClock = false,
): Promise<{
  page: Page;
  url: string;
  shown: { html: string | null };
  requests: string[];
  complaints: string[];
}> {
  /** Null: no page is to be had. */
  const shown: { html: string | null } = { html };
  const server = createServer((_, response) => {
    const status = shown.html === null ? 503 : 200;
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", ...pageHeaders });
    response.end(shown.html ?? "");
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
  if (hasOwnClock) await page.clock.install();
  await page.goto(url);
  return { page, url, shown, requests, complaints };
}
