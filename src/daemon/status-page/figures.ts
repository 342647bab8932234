import { durationText } from "../../core/progress.ts";
import { type Html, html } from "./html.ts";

/** As the SI groups digits: narrow, and no place to break a line. */
const GROUP_SEPARATOR = "\u202f";

/** `1 000 000` */
export const grouped = (count: number): string =>
  String(count).replace(/\B(?=(\d{3})+$)/g, count < 10_000 ? "" : GROUP_SEPARATOR);

/** `1 run`, `5 000 runs` */
export const groupedCount = (count: number, noun: string): string =>
  `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

const DAY = 86_400_000;

/** How long ago, or how soon, in one unit: `3 min ago`, `in 2 h`, `5 days ago`. */
export function relative(date: Date, now: Date): string {
  const ms = date.getTime() - now.getTime();
  const distance = roundText(Math.abs(ms));
  if (distance === "0 s") return "now";
  return ms > 0 ? `in ${distance}` : `${distance} ago`;
}

/** One unit is enough to see at a glance: `42 s`, `3 min`, `2 h`, `5 days`. */
export function roundText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.round(ms / 3_600_000);
  return hours < 48 ? `${hours} h` : `${grouped(Math.round(ms / DAY))} days`;
}

/** `2026-03-01 09:30:00 UTC` */
const absolute = (date: Date): string => `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** A time both ways: how far it is from now, and when exactly. */
export const moment = (date: Date, now: Date): Html =>
  html`<time datetime="${date.toISOString()}">${relative(date, now)} <small>${absolute(date)}</small></time>`;

/** The same within a sentence. */
export const briefMoment = (date: Date, now: Date): Html =>
  html`<time datetime="${date.toISOString()}">${relative(date, now)} (${absolute(date)})</time>`;

/** How long something took. */
export const took = (from: Date, to: Date): string =>
  durationText(Math.max(0, to.getTime() - from.getTime()));
