/** Text for numbers. */

/** 0.4567 → "46 %", 0.0123 → "1.2 %", 0.00004 → "< 0.1 %". */
export function formatPercent(share: number): string {
  const value = share * 100;
  if (value >= 9.95) return `${Math.round(value)} %`;
  return value >= 0.05 ? `${value.toFixed(1)} %` : "< 0.1 %";
}

/** 12345 → "12,345". */
export function formatInteger(value: number): string {
  return value.toLocaleString("en-GB");
}

/** 1, "fact" → "1 fact"; 2, "fact" → "2 facts". */
export function pluralize(count: number, noun: string): string {
  return `${formatInteger(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** 0.1234 → "12.3 %", 0.00004 → "< 0.1 %": with one decimal, so that small differences are visible. */
export function formatShare(share: number): string {
  return share >= 0.0005 ? `${(share * 100).toFixed(1)} %` : "< 0.1 %";
}

/** 1.234 → "+1.23", -0.5 → "−0.50", with a real minus sign. */
export function formatSigned(value: number): string {
  const digits = Math.abs(value).toFixed(2);
  if (Number(digits) === 0) return "0.00";
  return `${value < 0 ? "−" : "+"}${digits}`;
}
