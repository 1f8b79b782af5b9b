/** Generated from openapi.json by generate_types.py (`npm run generate`). Do not edit. */

export interface AnswerSchema {
  readonly concepts: readonly string[];
  readonly direction: "out" | "in";
  readonly entity: string;
  readonly paths: readonly PathSchema[];
  readonly rank: number;
  readonly relation: string;
  readonly score: number;
  readonly share: number;
}

export interface BackgroundRequest {
  readonly facts: readonly FactRequest[];
}

export interface BackgroundResponse {
  readonly added: number;
  readonly already_known: number;
  readonly drift: DriftSchema;
  readonly duplicates: number;
  readonly entities: number;
  readonly facts: number;
  readonly last_time: string;
  readonly new_entities: number;
  readonly updates: number;
}

export interface DriftSchema {
  readonly eligible: number;
  readonly heuristic: string;
  readonly heuristic_mrr: number | null;
  readonly high: number | null;
  readonly judged: number;
  readonly low: number | null;
  readonly mrr: number | null;
  readonly reason: string;
  readonly validation_mrr: number | null;
  readonly validation_setting: "completion" | "forecast";
}

export interface EntitiesResponse {
  readonly entities: readonly EntityItem[];
}

export interface EntityItem {
  readonly concepts: readonly string[];
  readonly facts: number;
  readonly name: string;
  readonly observed: boolean;
}

export interface ErrorDetail {
  readonly field: string | null;
  readonly message: string;
  readonly suggestions: readonly string[];
}

export interface ErrorResponse {
  readonly error: ErrorDetail;
}

export interface EvidenceSchema {
  readonly contribution: number;
  readonly facts: readonly FactSchema[];
  readonly label: string;
  readonly source: string;
}

export interface ExampleSchema {
  readonly at: string;
  readonly facts: readonly FactSchema[];
  readonly object?: string | null;
  readonly relation: string;
  readonly subject?: string | null;
}

export interface ExplainRequest {
  readonly as_of?: string | number | null;
  readonly at: string | number;
  readonly entity: string;
  readonly facts?: readonly FactRequest[];
  readonly hindsight?: boolean;
  readonly horizon?: string | null;
  readonly min_share?: number;
  readonly object?: string | null;
  readonly paths?: number;
  readonly relation: string;
  readonly subject?: string | null;
  readonly top?: number;
  readonly without?: readonly FactRequest[];
}

export interface ExplanationSchema {
  readonly base_rate: number;
  readonly concepts: readonly string[];
  readonly considered: number;
  readonly direction: "out" | "in";
  readonly entity: string;
  readonly evidence: readonly EvidenceSchema[];
  readonly facts: readonly FactEffectSchema[];
  readonly kind: "path" | "peers" | "base rate" | "learned" | "facts" | null;
  readonly later: readonly FactSchema[];
  readonly necessary: readonly FactSchema[];
  readonly paths: readonly PathSchema[];
  readonly query: QuerySchema;
  readonly rank: number | null;
  readonly relation: string;
  readonly score: number | null;
  readonly share: number;
  readonly sufficient: readonly FactSchema[];
  readonly summary: string;
  readonly with_sufficient: PlaceSchema | null;
  readonly without_necessary: PlaceSchema | null;
}

export interface FactEffectSchema {
  readonly effect: number;
  readonly object: string;
  readonly rank_without: number | null;
  readonly relation: string;
  readonly share_without: number;
  readonly subject: string;
  readonly time: string;
  readonly together: readonly FactSchema[];
}

export interface FactRequest {
  readonly object: string;
  readonly relation: string;
  readonly subject: string;
  readonly time: string | number;
}

export interface FactSchema {
  readonly object: string;
  readonly relation: string;
  readonly subject: string;
  readonly time: string;
}

export interface HealthResponse {
  readonly status: string;
}

export interface ModelResponse {
  readonly data: string;
  readonly entities: number;
  readonly facts: number;
  readonly first_time: string;
  readonly granularity: "second" | "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year" | "integer";
  readonly last_time: string;
  readonly limits: Readonly<Record<string, number>>;
  readonly name: string;
  readonly preset: string;
  readonly relations: number;
  readonly shots: number;
  readonly signature: string;
  readonly trained_for: "completion" | "forecast";
  readonly updates: number;
  readonly version: string;
}

export interface ObserveRequest {
  readonly facts: readonly FactRequest[];
}

export interface ObserveResponse {
  readonly added: number;
  readonly facts: readonly StoredFactSchema[];
}

export interface PathSchema {
  readonly also: readonly (readonly string[])[];
  readonly is_context: boolean;
  readonly kind: "path" | "peers" | "context";
  readonly log_prob: number;
  readonly rank_without: number | null;
  readonly share_without: number | null;
  readonly steps: readonly StepSchema[];
  readonly text: string;
}

export interface PlaceSchema {
  readonly rank: number | null;
  readonly share: number;
}

export interface PredictRequest {
  readonly as_of?: string | number | null;
  readonly at: string | number;
  readonly facts?: readonly FactRequest[];
  readonly hindsight?: boolean;
  readonly horizon?: string | null;
  readonly min_share?: number;
  readonly object?: string | null;
  readonly paths?: number;
  readonly relation?: string | null;
  readonly subject?: string | null;
  readonly top?: number;
  readonly without?: readonly FactRequest[];
}

export interface PredictionSchema {
  readonly answers: readonly AnswerSchema[];
  readonly best_share: number | null;
  readonly left_out: number;
  readonly query: QuerySchema;
  readonly relations: readonly RelationShareSchema[];
  readonly setting: "completion" | "forecast";
  readonly trained_for: "completion" | "forecast";
  readonly unlisted: number;
  readonly when: TimePredictionSchema | null;
}

export interface QuerySchema {
  readonly as_of: string | null;
  readonly at: string;
  readonly hindsight: boolean;
  readonly horizon: string | null;
  readonly min_share: number;
  readonly object: string | null;
  readonly paths: number;
  readonly relation: string | null;
  readonly subject: string | null;
  readonly top: number;
  readonly without: readonly FactSchema[];
}

export interface RelationItem {
  readonly facts: number;
  readonly name: string;
}

export interface RelationShareSchema {
  readonly direction: "out" | "in";
  readonly relation: string;
  readonly share: number;
}

export interface RelationsResponse {
  readonly relations: readonly RelationItem[];
}

export interface RemovedResponse {
  readonly removed: number;
}

export interface StepSchema {
  readonly after_question: boolean;
  readonly confidence: number | null;
  readonly forward: boolean;
  readonly object: string;
  readonly probability: number | null;
  readonly relation: string;
  readonly subject: string;
  readonly time: string;
}

export interface StoredEntitiesResponse {
  readonly actors: readonly StoredEntityItem[];
}

export interface StoredEntityItem {
  readonly facts: number;
  readonly known: boolean;
  readonly name: string;
}

export interface StoredEntityResponse {
  readonly facts: readonly StoredFactSchema[];
  readonly known: boolean;
  readonly name: string;
}

export interface StoredFactSchema {
  readonly id: string;
  readonly object: string;
  readonly relation: string;
  readonly subject: string;
  readonly time: string;
}

export interface TimeIntervalSchema {
  readonly end: string;
  readonly share: number;
  readonly start: string;
}

export interface TimePredictionSchema {
  readonly intervals: readonly TimeIntervalSchema[];
  readonly none: number;
}

export interface Operations {
  readonly "GET /v1/actors": { readonly body: undefined; readonly reply: StoredEntitiesResponse };
  readonly "GET /v1/actors/{name}": { readonly body: undefined; readonly reply: StoredEntityResponse };
  readonly "DELETE /v1/actors/{name}": { readonly body: undefined; readonly reply: RemovedResponse };
  readonly "POST /v1/background": { readonly body: BackgroundRequest; readonly reply: BackgroundResponse };
  readonly "GET /v1/entities": { readonly body: undefined; readonly reply: EntitiesResponse };
  readonly "GET /v1/example": { readonly body: undefined; readonly reply: ExampleSchema };
  readonly "POST /v1/explain": { readonly body: ExplainRequest; readonly reply: ExplanationSchema };
  readonly "DELETE /v1/facts/{identity}": { readonly body: undefined; readonly reply: RemovedResponse };
  readonly "GET /v1/health": { readonly body: undefined; readonly reply: HealthResponse };
  readonly "GET /v1/metrics": { readonly body: undefined; readonly reply: string };
  readonly "GET /v1/model": { readonly body: undefined; readonly reply: ModelResponse };
  readonly "POST /v1/observe": { readonly body: ObserveRequest; readonly reply: ObserveResponse };
  readonly "POST /v1/predict": { readonly body: PredictRequest | readonly PredictRequest[]; readonly reply: PredictionSchema | readonly PredictionSchema[] };
  readonly "GET /v1/ready": { readonly body: undefined; readonly reply: HealthResponse };
  readonly "GET /v1/relations": { readonly body: undefined; readonly reply: RelationsResponse };
}
