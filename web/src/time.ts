/** Times as the service writes them: days, months, years, hours or plain integers. */

export type Granularity = "hour" | "day" | "month" | "year" | "integer";

const SAMPLES: Readonly<Record<Granularity, string>> = {
  hour: "2024-05-13T09",
  day: "2024-05-13",
  month: "2024-05",
  year: "2024",
  integer: "42",
};

/** How a time of this kind looks, for the hint in an empty field. */
export function sampleOf(granularity: Granularity): string {
  return SAMPLES[granularity];
}

/** The time so many granules later; null where the text is no time of this kind (yet). */
export function shifted(time: string, granularity: Granularity, by: number): string | null {
  if (granularity === "day") return moved(time, /^\d{4}-\d{2}-\d{2}$/, 86_400_000 * by, 10);
  if (granularity === "hour") return moved(time, /^\d{4}-\d{2}-\d{2}T\d{2}$/, 3_600_000 * by, 13);
  if (granularity === "month" && /^\d{4}-\d{2}$/.test(time)) {
    const months = Number(time.slice(0, 4)) * 12 + Number(time.slice(5)) - 1 + by;
    return `${String(Math.floor(months / 12)).padStart(4, "0")}-${String((months % 12) + 1).padStart(2, "0")}`;
  }
  if (/^-?\d{1,15}$/.test(time)) return String(Number(time) + by);
  return null;
}

function moved(time: string, shape: RegExp, milliseconds: number, length: number): string | null {
  if (!shape.test(time)) return null;
  const start = Date.parse(length === 13 ? `${time}:00:00Z` : `${time}T00:00:00Z`);
  return Number.isNaN(start) ? null : new Date(start + milliseconds).toISOString().slice(0, length);
}
