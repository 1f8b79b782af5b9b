/** Generated from openapi.json by generate_types.py (`npm run generate`). Do not edit. */

export interface Actor {
  readonly facts: readonly StoredFact[];
  readonly known: boolean;
  readonly name: string;
}

export interface ActorLine {
  readonly facts: number;
  readonly known: boolean;
  readonly name: string;
}

export interface Actors {
  readonly actors: readonly ActorLine[];
}

export interface Answer {
  readonly concepts: readonly string[];
  readonly entity: string;
  readonly paths: readonly Path[];
  readonly rank: number;
  readonly score: number;
  readonly share: number;
}

export interface Entities {
  readonly entities: readonly Entity[];
}

export interface Entity {
  readonly concepts: readonly string[];
  readonly facts: number;
  readonly name: string;
  readonly observed: boolean;
}

export interface Error {
  readonly error: Problem;
}

export interface Example {
  readonly at: string;
  readonly facts: readonly PlainFact[];
  readonly object?: string | null;
  readonly relation: string;
  readonly subject?: string | null;
}

export interface ExplainBody {
  readonly as_of?: string | number | null;
  readonly at: string | number;
  readonly entity: string;
  readonly facts?: readonly FactBody[];
  readonly object?: string | null;
  readonly paths?: number;
  readonly relation: string;
  readonly subject?: string | null;
  readonly top?: number;
  readonly without?: readonly FactBody[];
}

export interface Explanation {
  readonly entity: string;
  readonly paths: readonly Path[];
  readonly query: Query;
  readonly rank: number | null;
  readonly share: number;
}

export interface FactBody {
  readonly object: string;
  readonly relation: string;
  readonly subject: string;
  readonly time: string | number;
}

export interface Health {
  readonly status: string;
}

export interface Model {
  readonly data: string;
  readonly entities: number;
  readonly facts: number;
  readonly first_time: string;
  readonly granularity: string;
  readonly last_time: string;
  readonly limits: Readonly<Record<string, number>>;
  readonly name: string;
  readonly preset: string;
  readonly relations: number;
  readonly shots: number;
  readonly signature: string;
  readonly version: string;
}

export interface ObserveBody {
  readonly facts: readonly FactBody[];
}

export interface Observed {
  readonly added: number;
  readonly facts: readonly StoredFact[];
}

export interface Path {
  readonly is_context: boolean;
  readonly log_prob: number;
  readonly steps: readonly Step[];
  readonly text: string;
}

export interface PlainFact {
  readonly object: string;
  readonly relation: string;
  readonly subject: string;
  readonly time: string;
}

export interface PredictBody {
  readonly as_of?: string | number | null;
  readonly at: string | number;
  readonly facts?: readonly FactBody[];
  readonly object?: string | null;
  readonly paths?: number;
  readonly relation: string;
  readonly subject?: string | null;
  readonly top?: number;
  readonly without?: readonly FactBody[];
}

export interface Prediction {
  readonly answers: readonly Answer[];
  readonly query: Query;
}

export interface Problem {
  readonly field: string | null;
  readonly message: string;
  readonly suggestions: readonly string[];
}

export interface Query {
  readonly as_of: string | null;
  readonly at: string;
  readonly object: string | null;
  readonly paths: number;
  readonly relation: string;
  readonly subject: string | null;
  readonly top: number;
  readonly without: readonly PlainFact[];
}

export interface Relation {
  readonly facts: number;
  readonly name: string;
}

export interface Relations {
  readonly relations: readonly Relation[];
}

export interface Removed {
  readonly removed: number;
}

export interface Step {
  readonly confidence: number | null;
  readonly forward: boolean;
  readonly object: string;
  readonly probability: number;
  readonly relation: string;
  readonly subject: string;
  readonly time: string;
}

export interface StoredFact {
  readonly id: string;
  readonly object: string;
  readonly relation: string;
  readonly subject: string;
  readonly time: string;
}

export interface Operations {
  readonly "GET /v1/actors": { readonly body: undefined; readonly reply: Actors };
  readonly "GET /v1/actors/{name}": { readonly body: undefined; readonly reply: Actor };
  readonly "DELETE /v1/actors/{name}": { readonly body: undefined; readonly reply: Removed };
  readonly "GET /v1/entities": { readonly body: undefined; readonly reply: Entities };
  readonly "GET /v1/example": { readonly body: undefined; readonly reply: Example };
  readonly "POST /v1/explain": { readonly body: ExplainBody; readonly reply: Explanation };
  readonly "DELETE /v1/facts/{identity}": { readonly body: undefined; readonly reply: Removed };
  readonly "GET /v1/health": { readonly body: undefined; readonly reply: Health };
  readonly "GET /v1/metrics": { readonly body: undefined; readonly reply: string };
  readonly "GET /v1/model": { readonly body: undefined; readonly reply: Model };
  readonly "POST /v1/observe": { readonly body: ObserveBody; readonly reply: Observed };
  readonly "POST /v1/predict": { readonly body: PredictBody; readonly reply: Prediction };
  readonly "GET /v1/relations": { readonly body: undefined; readonly reply: Relations };
}
