/** Suggestions of names for comboboxes. */

import { api } from "../api/client";
import { pluralize } from "../state/format";
import type { Suggestion } from "./Combobox";

const MAX_CONCEPTS = 2;

export async function suggestEntities(text: string, signal: AbortSignal): Promise<readonly Suggestion[]> {
  const found = await api.entities(text, signal);
  return found.map(({ name, concepts, facts, observed }) => ({
    value: name,
    detail: [...concepts.slice(0, MAX_CONCEPTS), observed ? "stored facts" : pluralize(facts, "fact")].join(" · "),
  }));
}

export async function suggestRelations(text: string, signal: AbortSignal): Promise<readonly Suggestion[]> {
  const found = await api.relations(text, signal);
  return found.map(({ name, facts }) => ({ value: name, detail: pluralize(facts, "fact") }));
}
