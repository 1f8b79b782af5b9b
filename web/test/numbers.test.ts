import { expect, test } from "vitest";
import { counted, percent } from "../src/numbers";

test.each([
  [0.4567, "46 %"],
  [0.0995, "10 %"],
  [0.0123, "1.2 %"],
  [0.00004, "< 0.1 %"],
  [1, "100 %"],
])("%f is shown as %s", (share, text) => {
  expect(percent(share)).toBe(text);
});

test("nouns follow their number", () => {
  expect([counted(1, "fact"), counted(1234, "fact")]).toEqual(["1 fact", "1,234 facts"]);
});
