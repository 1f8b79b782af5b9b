/**
 * The page's state as the part of its address after `#`, and back.
 *
 * That part is never sent to a server, so facts that someone noted do not end up in anyone's logs. A fact is one row,
 * its four fields between tabs, as in a facts file.
 */

import type { Fact } from "./contract";
import { EMPTY, TOPS, type NotedFact, type State } from "./state";

const MOST_FACTS = 500;

export function linkOf(state: State): string {
  const link = new URLSearchParams();
  const put = (key: string, value: string): void => {
    if (value) link.append(key, value);
  };
  put("actor", state.actor);
  for (const { fact, on } of state.facts) put(on ? "fact" : "off", row(fact));
  for (const fact of state.without) put("without", row(fact));
  if (state.side === "object") put("side", "object");
  put("relation", state.relation);
  put("at", state.at);
  put("asof", state.asOf);
  put("pick", state.pick);
  if (state.top !== EMPTY.top) put("top", String(state.top));
  return link.toString();
}

/** Whatever the link says that can be understood; the rest is as on an empty page. */
export function stateOf(link: string): State {
  const said = new URLSearchParams(link.replace(/^#/, ""));
  const text = (key: string): string => said.get(key)?.trim() ?? "";
  const facts: NotedFact[] = [];
  for (const [key, value] of said) {
    const fact = key === "fact" || key === "off" ? factOf(value) : null;
    if (fact && facts.length < MOST_FACTS) facts.push({ fact, on: key === "fact" });
  }
  return {
    actor: text("actor"),
    facts,
    without: said.getAll("without").flatMap((value) => factOf(value) ?? []).slice(0, MOST_FACTS),
    side: text("side") === "object" ? "object" : "subject",
    relation: text("relation"),
    at: text("at"),
    asOf: text("asof"),
    pick: text("pick"),
    top: TOPS.find((top) => String(top) === text("top")) ?? EMPTY.top,
  };
}

function row(fact: Fact): string {
  return [fact.subject, fact.relation, fact.object, fact.time].join("\t");
}

function factOf(text: string): Fact | null {
  const fields = text.split("\t").map((field) => field.trim());
  const [subject, relation, object, time] = fields;
  return fields.length === 4 && subject && relation && object && time ? { subject, relation, object, time } : null;
}
