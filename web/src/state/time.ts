/** Times in the notation of the service: from seconds to years, or integers. */

import type { Model } from "../api/types";

export type Granularity = Model["granularity"];

const EXAMPLES: Readonly<Record<Granularity, string>> = {
  second: "2024-05-13T09:30:00",
  minute: "2024-05-13T09:30",
  hour: "2024-05-13T09",
  day: "2024-05-13",
  week: "2024-W20",
  month: "2024-05",
  quarter: "2024-Q2",
  year: "2024",
  integer: "42",
};
/** Granularity until the service has reported its own. */
export const DEFAULT_GRANULARITY: Granularity = "day";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Length of a unit in milliseconds, notation, and what completes it to a datetime. */
const CLOCK: Readonly<Partial<Record<Granularity, readonly [number, RegExp, string]>>> = {
  second: [1000, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/, "Z"],
  minute: [60_000, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/, ":00Z"],
  hour: [HOUR_MS, /^\d{4}-\d{2}-\d{2}T\d{2}$/, ":00:00Z"],
  day: [DAY_MS, /^\d{4}-\d{2}-\d{2}$/, "T00:00:00Z"],
};
/** Parts of a year, notation, and what stands before the number of the part. */
const PARTS: Readonly<Partial<Record<Granularity, readonly [number, RegExp, string, number]>>> = {
  month: [12, /^(\d{4})-(\d{2})$/, "-", 2],
  quarter: [4, /^(\d{4})-Q([1-4])$/, "-Q", 1],
};

/** A time of the given granularity, as a placeholder. */
export function exampleTime(granularity: Granularity): string {
  return EXAMPLES[granularity];
}

/** Moves a time by a number of units; null if the text is not a complete time of this granularity. */
export function shiftTime(time: string, granularity: Granularity, units: number): string | null {
  const clock = CLOCK[granularity];
  if (clock) return shiftClock(time, clock, units);
  const parts = PARTS[granularity];
  if (parts) return shiftPart(time, parts, units);
  if (granularity === "week") return shiftWeek(time, units);
  if (/^-?\d{1,15}$/.test(time)) return String(Number(time) + units).padStart(granularity === "year" ? 4 : 1, "0");
  return null;
}

function shiftClock(time: string, [unit, format, rest]: readonly [number, RegExp, string], units: number): string | null {
  if (!format.test(time)) return null;
  const start = Date.parse(`${time}${rest}`);
  return Number.isNaN(start) ? null : new Date(start + unit * units).toISOString().slice(0, time.length);
}

function shiftPart(
  time: string,
  [perYear, format, mark, digits]: readonly [number, RegExp, string, number],
  units: number,
): string | null {
  const match = format.exec(time);
  if (!match) return null;
  const count = Number(match[1]) * perYear + Number(match[2]) - 1 + units;
  const part = String((count % perYear) + 1).padStart(digits, "0");
  return `${String(Math.floor(count / perYear)).padStart(4, "0")}${mark}${part}`;
}

/** Weeks of ISO 8601: a week belongs to the year of its Thursday. */
function shiftWeek(time: string, units: number): string | null {
  const match = /^(\d{4})-W(\d{2})$/.exec(time);
  if (!match) return null;
  const fourth = new Date(Date.UTC(Number(match[1]), 0, 4)); // always in week 1
  const monday = fourth.getTime() - ((fourth.getUTCDay() + 6) % 7) * DAY_MS;
  const thursday = new Date(monday + (7 * (Number(match[2]) - 1 + units) + 3) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const week = 1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS));
  return `${String(year).padStart(4, "0")}-W${String(week).padStart(2, "0")}`;
}
