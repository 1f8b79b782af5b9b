/** Names for the JSON shapes of the service. The shapes themselves are generated from openapi.json (`schema.ts`). */

import type { Operations, PredictionSchema, PredictRequest } from "./schema";

export type Operation = keyof Operations;
/** JSON body of a request. */
export type Body<Name extends Operation> = Operations[Name]["body"];
/** JSON body of a successful response. */
export type Reply<Name extends Operation> = Operations[Name]["reply"];

export type Model = Reply<"GET /v1/model">;
export type Example = Reply<"GET /v1/example">;
export type Entity = Reply<"GET /v1/entities">["entities"][number];
export type Relation = Reply<"GET /v1/relations">["relations"][number];
/** Stored facts about one entity. */
export type EntityFacts = Reply<"GET /v1/actors/{name}">;
export type StoredFact = EntityFacts["facts"][number];
/** A fact without an id, with the time as text. */
export type Fact = Example["facts"][number];

export type QueryRequest = PredictRequest & { readonly relation: string };
export type Prediction = PredictionSchema;
export type Answer = Prediction["answers"][number];
export type Path = Answer["paths"][number];
export type Step = Path["steps"][number];
/** Why an entity is an answer, listed among the answers or not: evidence, measured effects of facts, paths. */
export type Explanation = Reply<"POST /v1/explain">;
export type Evidence = Explanation["evidence"][number];
/** A fact, and the answer without it. */
export type FactEffect = Explanation["facts"][number];
/** Share and rank of an answer. */
export type Place = NonNullable<Explanation["with_sufficient"]>;

/** Position of the given entity in the query; the model predicts the other position. */
export type Side = "subject" | "object";
