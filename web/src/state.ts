/** Everything a person has set on the page, and the ways it changes. Pure: no page, no service. */

import type { Example, Fact, Question, Side } from "./contract";

export interface NotedFact {
  readonly fact: Fact;
  /** A fact that is off stays on the page; the service is asked to answer as if it were not known. */
  readonly on: boolean;
}

export interface State {
  readonly actor: string;
  /** Facts that live in this page (and in its address) only. */
  readonly facts: readonly NotedFact[];
  /** Facts that the service knows by itself and is asked to forget for this question. */
  readonly without: readonly Fact[];
  readonly side: Side;
  readonly relation: string;
  readonly at: string;
  /** Only facts up to this date count; empty for all. */
  readonly asOf: string;
  /** The answer whose paths are shown. */
  readonly pick: string;
  readonly top: number;
}

export const TOPS = [10, 25] as const;
export const PATHS = 3;

export const EMPTY: State = {
  actor: "",
  facts: [],
  without: [],
  side: "subject",
  relation: "",
  at: "",
  asOf: "",
  pick: "",
  top: TOPS[0],
};

export function sameFact(one: Fact, other: Fact): boolean {
  return (
    one.subject === other.subject &&
    one.relation === other.relation &&
    one.object === other.object &&
    one.time === other.time
  );
}

export function mentions(fact: Fact, name: string): boolean {
  return fact.subject === name || fact.object === name;
}

/** Another actor: what was known of the one before, and what was picked, goes with it; the question stays. */
export function withActor(state: State, actor: string): State {
  if (actor === state.actor) return state;
  const facts = actor ? state.facts.filter(({ fact }) => mentions(fact, actor)) : [];
  return { ...state, actor, facts, without: [], pick: "" };
}

/** One more fact; a fact that is there already is switched on instead. */
export function withFact(state: State, fact: Fact): State {
  if (!state.facts.some((noted) => sameFact(noted.fact, fact))) {
    return { ...state, facts: [...state.facts, { fact, on: true }] };
  }
  return switched(state, fact, true);
}

export function dropped(state: State, fact: Fact): State {
  return { ...state, facts: state.facts.filter((noted) => !sameFact(noted.fact, fact)) };
}

/** A fact switched on or off, whether it is the page's own or one the service knows. */
export function switched(state: State, fact: Fact, on: boolean): State {
  if (state.facts.some((noted) => sameFact(noted.fact, fact))) {
    const facts = state.facts.map((noted) => (sameFact(noted.fact, fact) ? { ...noted, on } : noted));
    return { ...state, facts };
  }
  const others = state.without.filter((known) => !sameFact(known, fact));
  return { ...state, without: on ? others : [...others, bare(fact)] };
}

export function isOn(state: State, fact: Fact): boolean {
  const noted = state.facts.find((candidate) => sameFact(candidate.fact, fact));
  return noted ? noted.on : !state.without.some((known) => sameFact(known, fact));
}

export function ofExample(example: Example): State {
  const side: Side = example.object === undefined ? "subject" : "object";
  return {
    ...EMPTY,
    actor: example.subject ?? example.object ?? "",
    facts: example.facts.map((fact) => ({ fact: bare(fact), on: true })),
    side,
    relation: example.relation,
    at: example.at,
  };
}

/** What the service is asked, or null while something is missing. */
export function questionOf(state: State): Question | null {
  if (!state.actor || !state.relation || !state.at) return null;
  const off = state.facts.filter(({ on }) => !on).map(({ fact }) => fact);
  return {
    facts: state.facts.filter(({ on }) => on).map(({ fact }) => fact),
    [state.side]: state.actor,
    relation: state.relation,
    at: state.at,
    top: state.top,
    paths: PATHS,
    without: [...off, ...state.without],
    ...(state.asOf ? { as_of: state.asOf } : {}),
  };
}

/** What the answers are compared with: the same with every fact on; failing that, without the date of knowledge. */
export function baselineOf(state: State): State | null {
  if (state.without.length || state.facts.some(({ on }) => !on)) {
    return { ...state, without: [], facts: state.facts.map(({ fact }) => ({ fact, on: true })) };
  }
  return state.asOf ? { ...state, asOf: "" } : null;
}

/** A name that was written wrongly, put right wherever it stands. */
export function corrected(state: State, wrong: string, right: string): State {
  const name = (text: string): string => (text === wrong ? right : text);
  const facts = state.facts.map(({ fact, on }) => ({
    fact: { subject: name(fact.subject), relation: name(fact.relation), object: name(fact.object), time: fact.time },
    on,
  }));
  return { ...state, actor: name(state.actor), relation: name(state.relation), facts, pick: "" };
}

function bare({ subject, relation, object, time }: Fact): Fact {
  return { subject, relation, object, time };
}
