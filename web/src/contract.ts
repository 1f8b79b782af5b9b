/** What the service says and is told: the shapes of its JSON. */

import type { Granularity } from "./time";

export interface Fact {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly time: string;
}

export interface StoredFact extends Fact {
  readonly id: string;
}

export interface Step extends Fact {
  readonly probability: number;
  readonly confidence: number | null;
  /** Whether the path goes from subject to object. */
  readonly forward: boolean;
}

export interface Path {
  readonly log_prob: number;
  readonly steps: readonly Step[];
  /** No path from the actor, but an example of what others did. */
  readonly is_context: boolean;
  readonly text: string;
}

export interface Answer {
  readonly rank: number;
  readonly entity: string;
  readonly score: number;
  readonly share: number;
  readonly concepts: readonly string[];
  readonly paths: readonly Path[];
}

export interface Prediction {
  readonly answers: readonly Answer[];
}

/** An answer that was asked for by name, wherever it ranks. */
export interface Explanation {
  readonly entity: string;
  readonly rank: number | null;
  readonly share: number | null;
  readonly paths: readonly Path[];
}

/** The end of the asked fact that is known: who acts, or who is acted upon. */
export type Side = "subject" | "object";

export interface Question {
  readonly facts: readonly Fact[];
  readonly subject?: string;
  readonly object?: string;
  readonly relation: string;
  readonly at: string;
  readonly top: number;
  readonly paths: number;
  readonly without: readonly Fact[];
  readonly as_of?: string;
}

export interface Model {
  readonly name: string;
  readonly preset: string;
  readonly shots: number;
  readonly data: string;
  readonly entities: number;
  readonly relations: number;
  readonly facts: number;
  readonly first_time: string;
  readonly last_time: string;
  readonly granularity: Granularity;
  readonly version: string;
  readonly signature: string;
}

export interface Entity {
  readonly name: string;
  readonly concepts: readonly string[];
  readonly facts: number;
  readonly observed: boolean;
}

export interface Relation {
  readonly name: string;
  readonly facts: number;
}

export interface Actor {
  readonly name: string;
  /** Whether the trained model has met it. */
  readonly known: boolean;
  readonly facts: readonly StoredFact[];
}

export interface Example {
  readonly facts: readonly Fact[];
  readonly subject?: string;
  readonly object?: string;
  readonly relation: string;
  readonly at: string;
}
