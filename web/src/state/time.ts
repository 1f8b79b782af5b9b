/** Times in the notation of the service: hours, days, months, years or integers. */

import type { Model } from "../api/types";

export type Granularity = Model["granularity"];

const EXAMPLES: Readonly<Record<Granularity, string>> = {
  hour: "2024-05-13T09",
  day: "2024-05-13",
  month: "2024-05",
  year: "2024",
  integer: "42",
};
/** Granularity until the service has reported its own. */
export const DEFAULT_GRANULARITY: Granularity = "day";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A time of the given granularity, as a placeholder. */
export function exampleTime(granularity: Granularity): string {
  return EXAMPLES[granularity];
}

/** Moves a time by a number of units; null if the text is not a complete time of this granularity. */
export function shiftTime(time: string, granularity: Granularity, units: number): string | null {
  if (granularity === "day") return shiftIso(time, /^\d{4}-\d{2}-\d{2}$/, DAY_MS * units, 10);
  if (granularity === "hour") return shiftIso(time, /^\d{4}-\d{2}-\d{2}T\d{2}$/, HOUR_MS * units, 13);
  if (granularity === "month" && /^\d{4}-\d{2}$/.test(time)) {
    const months = Number(time.slice(0, 4)) * 12 + Number(time.slice(5)) - 1 + units;
    return `${String(Math.floor(months / 12)).padStart(4, "0")}-${String((months % 12) + 1).padStart(2, "0")}`;
  }
  if (/^-?\d{1,15}$/.test(time)) return String(Number(time) + units);
  return null;
}

function shiftIso(time: string, format: RegExp, milliseconds: number, length: number): string | null {
  if (!format.test(time)) return null;
  const start = Date.parse(length === 13 ? `${time}:00:00Z` : `${time}T00:00:00Z`);
  return Number.isNaN(start) ? null : new Date(start + milliseconds).toISOString().slice(0, length);
}
