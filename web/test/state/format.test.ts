import { expect, test } from "vitest";
import { formatPercent, pluralize } from "../../src/state/format";

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
