/** What moved between two rankings of the same question. */

import type { Answer } from "./contract";

export interface Move {
  /** Places gained; negative where it fell. */
  readonly gained: number;
  /** Where it stood, or null where it was not among the answers. */
  readonly was: number | null;
  readonly wasShare: number | null;
}

export interface Movement {
  /** By name, for every answer there is now. */
  readonly moves: ReadonlyMap<string, Move>;
  /** Answers that are gone, best first. */
  readonly gone: readonly Answer[];
}

export function movement(now: readonly Answer[], before: readonly Answer[]): Movement {
  const earlier = new Map(before.map((answer) => [answer.entity, answer]));
  const moves = new Map(now.map((answer) => [answer.entity, move(answer, earlier.get(answer.entity))]));
  return { moves, gone: before.filter((answer) => !moves.has(answer.entity)) };
}

/** One line for those who do not see the arrows. */
export function summary({ moves, gone }: Movement): string {
  const changed = [...moves.values()].filter(({ was, gained }) => was === null || gained !== 0).length;
  if (!changed && !gone.length) return "The order is the same.";
  const lost = gone.length ? ` ${count(gone.length, "answer")} dropped out.` : "";
  return `${count(changed, "answer")} moved.${lost}`;
}

function move(now: Answer, before: Answer | undefined): Move {
  if (!before) return { gained: 0, was: null, wasShare: null };
  return { gained: before.rank - now.rank, was: before.rank, wasShare: before.share };
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
