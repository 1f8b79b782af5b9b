/** One fact with a switch that enables or disables it. */

import type { JSX } from "preact";
import type { Fact } from "../api/types";

interface Props {
  readonly fact: Fact;
  readonly enabled: boolean;
  readonly entity: string;
  readonly onToggle: (fact: Fact, enabled: boolean) => void;
  /** Further controls at the end of the row. */
  readonly children?: JSX.Element;
}

export function FactRow({ fact, enabled, entity, onToggle, children }: Props): JSX.Element {
  return (
    <li class={enabled ? "fact" : "fact disabled"}>
      <button
        type="button"
        role="switch"
        class="switch"
        aria-checked={enabled}
        aria-label={`Use fact: ${factLabel(fact)}`}
        onClick={() => onToggle(fact, !enabled)}
      />
      <div class="fact-text">
        <FactText fact={fact} entity={entity} />
        <span class="date">{fact.time}</span>
      </div>
      {children}
    </li>
  );
}

/** A fact as plain text, for labels. */
export function factLabel(fact: Fact): string {
  return `${fact.subject}, ${fact.relation}, ${fact.object}, ${fact.time}`;
}

/** The fact from the point of view of the entity: an entity that is the subject is omitted. */
function FactText({ fact, entity }: { readonly fact: Fact; readonly entity: string }): JSX.Element {
  if (fact.subject === entity) {
    return (
      <span>
        <span class="relation">{fact.relation}</span> <span class="arrow">→</span> {fact.object}
      </span>
    );
  }
  return (
    <span>
      <WholeFact fact={fact} />
    </span>
  );
}

/** Subject, relation and object of a fact. */
export function WholeFact({ fact }: { readonly fact: Fact }): JSX.Element {
  return (
    <>
      {fact.subject} <span class="arrow">—</span> <span class="relation">{fact.relation}</span>{" "}
      <span class="arrow">→</span> {fact.object}
    </>
  );
}
