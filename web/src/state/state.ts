/** State of the page and its transitions. Pure functions: no DOM, no requests. */

import type { Example, Fact, QueryRequest, Side } from "../api/types";

export interface PageFact {
  readonly fact: Fact;
  /** A disabled fact stays on the page but is excluded from the prediction. */
  readonly enabled: boolean;
}

export interface State {
  readonly entity: string;
  /** Facts that exist only on this page (and in its URL). */
  readonly facts: readonly PageFact[];
  /** Facts known to the service (trained on or stored) that the prediction excludes. */
  readonly without: readonly Fact[];
  readonly side: Side;
  readonly relation: string;
  readonly at: string;
  /** Latest time of the facts in use; empty for no further limit. */
  readonly asOf: string;
  /** Whether facts at and after the query time are used too. */
  readonly hindsight: boolean;
  /** The answer whose explanation is shown; empty for the first answer. */
  readonly selected: string;
  readonly top: number;
}

export const TOP_CHOICES = [10, 25] as const;
export const PATHS_PER_ANSWER = 3;

export const EMPTY: State = {
  entity: "",
  facts: [],
  without: [],
  side: "subject",
  relation: "",
  at: "",
  asOf: "",
  hindsight: false,
  selected: "",
  top: TOP_CHOICES[0],
};

export function sameFact(one: Fact, other: Fact): boolean {
  return (
    one.subject === other.subject &&
    one.relation === other.relation &&
    one.object === other.object &&
    one.time === other.time
  );
}

/** Unique text for a fact, for use as a list or cache key. */
export function factKey({ subject, relation, object, time }: Fact): string {
  return [subject, relation, object, time].join("\t");
}

/** Sets the entity. Keeps the query and the facts that mention the new entity; resets everything else. */
export function setEntity(state: State, entity: string): State {
  if (entity === state.entity) return state;
  const facts = entity ? state.facts.filter(({ fact }) => mentions(fact, entity)) : [];
  return { ...state, entity, facts, without: [], selected: "" };
}

/** Adds a fact; a fact that is already listed is enabled instead. */
export function addFact(state: State, fact: Fact): State {
  if (!isListed(state, fact)) return { ...state, facts: [...state.facts, { fact, enabled: true }] };
  return setFactEnabled(state, fact, true);
}

export function removeFact(state: State, fact: Fact): State {
  return { ...state, facts: state.facts.filter((listed) => !sameFact(listed.fact, fact)) };
}

/** Enables or disables a fact of the page or of the service. */
export function setFactEnabled(state: State, fact: Fact, enabled: boolean): State {
  if (isListed(state, fact)) {
    const facts = state.facts.map((listed) => (sameFact(listed.fact, fact) ? { ...listed, enabled } : listed));
    return { ...state, facts };
  }
  const others = state.without.filter((excluded) => !sameFact(excluded, fact));
  return { ...state, without: enabled ? others : [...others, withoutExtras(fact)] };
}

export function isFactEnabled(state: State, fact: Fact): boolean {
  const listed = state.facts.find((candidate) => sameFact(candidate.fact, fact));
  return listed ? listed.enabled : !state.without.some((excluded) => sameFact(excluded, fact));
}

export function stateFromExample(example: Example): State {
  return {
    ...EMPTY,
    entity: example.subject ?? example.object ?? "",
    facts: example.facts.map((fact) => ({ fact: withoutExtras(fact), enabled: true })),
    side: example.object ? "object" : "subject",
    relation: example.relation,
    at: example.at,
  };
}

/** The request for the current query, or null while an input is missing. */
export function toQuery(state: State): QueryRequest | null {
  if (!state.entity || !state.relation || !state.at) return null;
  const disabled = state.facts.filter(({ enabled }) => !enabled).map(({ fact }) => fact);
  return {
    facts: state.facts.filter(({ enabled }) => enabled).map(({ fact }) => fact),
    [state.side]: state.entity,
    relation: state.relation,
    at: state.at,
    top: state.top,
    paths: PATHS_PER_ANSWER,
    without: [...disabled, ...state.without],
    ...(state.asOf ? { as_of: state.asOf } : {}),
    ...(state.hindsight ? { hindsight: true } : {}),
  };
}

/**
 * The state that the answers are compared with, or null if nothing is restricted: all facts enabled; if they already
 * are, no `asOf` limit.
 */
export function baselineState(state: State): State | null {
  if (state.without.length || state.facts.some(({ enabled }) => !enabled)) {
    return { ...state, without: [], facts: state.facts.map(({ fact }) => ({ fact, enabled: true })) };
  }
  return state.asOf ? { ...state, asOf: "" } : null;
}

/** Replaces a misspelt name everywhere in the state. */
export function replaceName(state: State, wrong: string, right: string): State {
  const replace = (text: string): string => (text === wrong ? right : text);
  const facts = state.facts.map(({ fact: { subject, relation, object, time }, enabled }) => ({
    fact: { subject: replace(subject), relation: replace(relation), object: replace(object), time },
    enabled,
  }));
  return { ...state, entity: replace(state.entity), relation: replace(state.relation), facts, selected: "" };
}

function isListed(state: State, fact: Fact): boolean {
  return state.facts.some((listed) => sameFact(listed.fact, fact));
}

function mentions(fact: Fact, entity: string): boolean {
  return fact.subject === entity || fact.object === entity;
}

/** The four fields of a fact, without an id or the fields of a step. */
function withoutExtras({ subject, relation, object, time }: Fact): Fact {
  return { subject, relation, object, time };
}
