import { type Content, type Html, html } from "../../core/text/html.ts";
import type { TimedText } from "../../core/text/printable.ts";
import { durationText } from "../../core/text/quantity.ts";

/** When the page is made, and the time zone in which it shows times: a name of the IANA database. */
export interface PageTime {
  readonly now: Date;
  readonly timeZone: string;
}

const DAY = 86_400_000;

/** The distance of a time from now, in one unit: `3 min ago`, `in 2 h`, `5 days ago`. */
export function relative(date: Date, now: Date): string {
  const ms = date.getTime() - now.getTime();
  const distance = roundText(Math.abs(ms));
  if (Math.abs(ms) < 500) return "now";
  return ms > 0 ? `in ${distance}` : `${distance} ago`;
}

/** A duration in one unit: `42 s`, `3 min`, `2 h`, `5 days`. */
export function roundText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return unbroken(`${seconds} s`);
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return unbroken(`${minutes} min`);
  const hours = Math.round(ms / 3_600_000);
  return unbroken(hours < 48 ? `${hours} h` : `${Math.round(ms / DAY)} days`);
}

/** The exact time, in the page's time zone: `2026-03-01 09:30:00`. */
export const instant = (date: Date, { timeZone }: PageTime): Html =>
  html`<time datetime="${date.toISOString()}">${absolute(date, timeZone)}</time>`;

/** A time as its distance from now. The exact one shows when somebody points at it. */
export const moment = (date: Date, { now, timeZone }: PageTime): Html =>
  html`<time datetime="${date.toISOString()}" title="${absolute(date, timeZone)}">${relative(date, now)}</time>`;

/** A time, and in parentheses its distance from now. */
export const exactMoment = (date: Date, at: PageTime): Html =>
  html`${instant(date, at)} (${relative(date, at.now)})`;

/** Text with its times written in the same way. */
export const timedHtml = (text: TimedText, timeHtml: (date: Date) => Html): Content =>
  typeof text === "string" ? text : text.map((part) => (typeof part === "string" ? part : timeHtml(part)));

/** The Swedish write dates as ISO 8601 does. */
const absolute = (date: Date, timeZone: string): string =>
  date.toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });

/** The time of the day: `09:30`. */
export const clockTime = (date: Date, { timeZone }: PageTime): string =>
  date.toLocaleTimeString("sv-SE", { timeZone, timeStyle: "short" });

/** An exact duration: `405 ms`, `4 min 10 s`. */
export const took = (ms: number): string => unbroken(durationText(Math.max(0, ms)));

/** Keeps a number and its unit in one line. */
const unbroken = (text: string): string => text.replaceAll(" ", "\u00a0");
