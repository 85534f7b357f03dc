/** Points in time and sizes, as people read them. */
import { t } from "../strings";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const shortDate = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const number = new Intl.NumberFormat("en-US");

/** "just now", "5 minutes ago", "yesterday", then the date. */
export function ago(iso: string, now = Date.now()): string {
  const at = Date.parse(iso);
  const passed = now - at;
  if (Math.abs(passed) < MINUTE) return t.when.now;
  if (Math.abs(passed) < HOUR) return relative.format(-Math.round(passed / MINUTE), "minute");
  if (Math.abs(passed) < DAY) return relative.format(-Math.round(passed / HOUR), "hour");
  if (Math.abs(passed) < 7 * DAY) return relative.format(-Math.round(passed / DAY), "day");
  return day(iso);
}

export function day(iso: string): string {
  const at = new Date(iso);
  return at.getFullYear() === new Date().getFullYear() ? shortDate.format(at) : date.format(at);
}

export const exactly = (iso: string): string => exact.format(new Date(iso));
export const time = (iso: string): string => clock.format(new Date(iso));
export const count = (n: number): string => number.format(n);

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let size = n / 1024;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

export function milliseconds(n: number): string {
  return n < 1 ? `${n.toFixed(2)} ms` : n < 1000 ? `${n < 10 ? n.toFixed(1) : Math.round(n)} ms` : `${(n / 1000).toFixed(1)} s`;
}
