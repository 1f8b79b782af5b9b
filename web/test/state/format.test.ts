import { expect, test } from "vitest";
import { formatPercent, formatShare, formatSigned, pluralize } from "../../src/state/format";

test.each([
  [0.4567, "46 %"],
  [0.0995, "10 %"],
  [0.0123, "1.2 %"],
  [0.00004, "< 0.1 %"],
  [1, "100 %"],
])("formatPercent(%f) is %s", (share, text) => {
  expect(formatPercent(share)).toBe(text);
});

test("pluralize adds an s except for one", () => {
  expect([pluralize(1, "fact"), pluralize(1234, "fact")]).toEqual(["1 fact", "1,234 facts"]);
});

test("formatShare has one decimal", () => {
  expect([0.4567, 1, 0.0123, 0.00004].map(formatShare)).toEqual(["45.7 %", "100.0 %", "1.2 %", "< 0.1 %"]);
});

test("formatSigned has a sign unless the value rounds to zero", () => {
  expect([1.234, -0.5, 0.001, -0.001].map(formatSigned)).toEqual(["+1.23", "−0.50", "0.00", "0.00"]);
});
