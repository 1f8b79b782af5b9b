import { expect, test } from "vitest";
import { shiftTime } from "../../src/state/time";

test.each([
  ["2024-02-28", "day", 1, "2024-02-29"],
  ["2024-01-01", "day", -1, "2023-12-31"],
  ["2024-12", "month", 1, "2025-01"],
  ["2024-01", "month", -1, "2023-12"],
  ["2024", "year", -1, "2023"],
  ["2024-05-13T23", "hour", 1, "2024-05-14T00"],
  ["37", "integer", 24, "61"],
  ["2024-05-13T09:59", "minute", 1, "2024-05-13T10:00"],
  ["2024-12-31T23:59:59", "second", 1, "2025-01-01T00:00:00"],
  ["2020-W53", "week", 1, "2021-W01"],
  ["2021-W01", "week", -1, "2020-W53"],
  ["2024-W52", "week", 1, "2025-W01"],
  ["2024-Q4", "quarter", 1, "2025-Q1"],
  ["0998", "year", 1, "0999"],
] as const)("shiftTime(%s, %s, %i) is %s", (time, granularity, units, shifted) => {
  expect(shiftTime(time, granularity, units)).toBe(shifted);
});

test("incomplete and invalid dates are not shifted", () => {
  expect(shiftTime("2024-0", "day", 1)).toBeNull();
  expect(shiftTime("2024-99-99", "day", 1)).toBeNull();
});
