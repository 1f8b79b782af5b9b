/**
 * Encodes the state as the URL fragment (the part after `#`) and decodes it.
 *
 * Browsers do not send the fragment to servers, so facts on the page do not appear in server logs. A fact is one value
 * with four tab-separated fields, as in a facts file.
 */

import type { Fact } from "../api/types";
import { EMPTY, factKey, TOP_CHOICES, type PageFact, type State } from "./state";

const MAX_FACTS = 500;

export function encodeState(state: State): string {
  const parameters = new URLSearchParams();
  const append = (key: string, value: string): void => {
    if (value) parameters.append(key, value);
  };
  append("entity", state.entity);
  for (const { fact, enabled } of state.facts) append(enabled ? "fact" : "off", factKey(fact));
  for (const fact of state.without) append("without", factKey(fact));
  if (state.side === "object") append("side", "object");
  append("relation", state.relation);
  append("at", state.at);
  append("asof", state.asOf);
  if (state.hindsight) append("hindsight", "1");
  append("selected", state.selected);
  if (state.top !== EMPTY.top) append("top", String(state.top));
  return parameters.toString();
}

/** Invalid or unknown parameters are ignored and keep their defaults. */
export function decodeState(fragment: string): State {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = (key: string): string => parameters.get(key)?.trim() ?? "";
  const facts: PageFact[] = [];
  for (const [key, value] of parameters) {
    const fact = key === "fact" || key === "off" ? parseFact(value) : null;
    if (fact && facts.length < MAX_FACTS) facts.push({ fact, enabled: key === "fact" });
  }
  return {
    entity: text("entity"),
    facts,
    without: parameters.getAll("without").flatMap((value) => parseFact(value) ?? []).slice(0, MAX_FACTS),
    side: text("side") === "object" ? "object" : "subject",
    relation: text("relation"),
    at: text("at"),
    asOf: text("asof"),
    hindsight: text("hindsight") === "1",
    selected: text("selected"),
    top: TOP_CHOICES.find((top) => String(top) === text("top")) ?? EMPTY.top,
  };
}

function parseFact(text: string): Fact | null {
  const fields = text.split("\t").map((field) => field.trim());
  const [subject, relation, object, time] = fields;
  return fields.length === 4 && subject && relation && object && time ? { subject, relation, object, time } : null;
}
