/** Line breaking for labels in the graph. */

/** Width of a text in pixels. */
export type MeasureText = (text: string) => number;

/**
 * Splits text into lines of at most `width` pixels, at spaces; longer words are broken. Of more than `maxLines` lines the
 * first ones are returned, with an ellipsis.
 */
export function wrapText(text: string, width: number, measure: MeasureText, maxLines = Infinity): string[] {
  const lines = allLines(text, width, measure);
  if (lines.length <= maxLines) return lines;
  return [...lines.slice(0, maxLines - 1), `${lines[maxLines - 1]} …`];
}

function allLines(text: string, width: number, measure: MeasureText): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).flatMap((long) => breakWord(long, width, measure))) {
    const extended = line ? `${line} ${word}` : word;
    if (line && measure(extended) > width) {
      lines.push(line);
      line = word;
    } else {
      line = extended;
    }
  }
  return line ? [...lines, line] : lines;
}

function breakWord(word: string, width: number, measure: MeasureText): string[] {
  const parts: string[] = [];
  let part = "";
  for (const letter of word) {
    if (part && measure(part + letter) > width) {
      parts.push(part);
      part = "";
    }
    part += letter;
  }
  return part ? [...parts, part] : parts;
}
