/** Names to choose from, as the comboboxes want them. */

import { api } from "./api";
import type { Choice } from "./combobox";
import { counted } from "./numbers";

export async function entityChoices(text: string, signal: AbortSignal): Promise<readonly Choice[]> {
  const found = await api.entities(text, signal);
  return found.map(({ name, concepts, facts, observed }) => ({
    value: name,
    detail: [...concepts.slice(0, 2), observed ? "observed" : counted(facts, "fact")].join(" · "),
  }));
}

export async function relationChoices(text: string, signal: AbortSignal): Promise<readonly Choice[]> {
  const found = await api.relations(text, signal);
  return found.map(({ name, facts }) => ({ value: name, detail: counted(facts, "fact") }));
}
