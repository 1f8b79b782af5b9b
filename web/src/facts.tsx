/** What is known of the actor: facts of this page, facts of the store, and facts set aside; each can be switched off. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Change } from "./address";
import { api } from "./api";
import type { Asked } from "./asked";
import type { Fact, Model, StoredFact } from "./contract";
import { FactForm } from "./fact-form";
import { CloseIcon } from "./icons";
import { asServiceError } from "./loaded";
import { counted } from "./numbers";
import { dropped, isOn, sameFact, switched, withFact, type State } from "./state";

interface Props {
  readonly state: State;
  readonly asked: Asked;
  readonly model: Model | null;
  readonly change: Change;
  readonly onNotice: (text: string) => void;
}

export function FactsPanel({ state, asked, model, change, onNotice }: Props): JSX.Element {
  const { profile } = asked;
  const stored = profile.of === state.actor ? (profile.value?.facts ?? []) : [];
  const aside = state.without.filter((fact) => !stored.some((known) => sameFact(known, fact)));
  const settled = profile.of === state.actor && profile.value !== null;
  const nothing = settled && !asked.grounded && !state.facts.length && !stored.length;
  const known = (settled && profile.value?.entity?.facts) || 0;
  const [adding, setAdding] = useState(false);
  const toggle = (fact: Fact, on: boolean): void => change(switched(state, fact, on));

  const keep = async (): Promise<void> => {
    const facts = state.facts.filter(({ on }) => on).map(({ fact }) => fact);
    await told(async () => {
      await api.observe(facts);
      change({ ...state, facts: state.facts.filter(({ on }) => !on) });
      return `${counted(facts.length, "fact")} stored in the service.`;
    });
  };

  const forget = async (fact: StoredFact): Promise<void> => {
    await told(async () => {
      await api.forget(fact.id);
      change({ ...state, without: state.without.filter((known) => !sameFact(known, fact)) });
      return "The fact is removed from the service.";
    });
  };

  const told = async (act: () => Promise<string>): Promise<void> => {
    try {
      onNotice(await act());
      profile.again();
    } catch (reason) {
      onNotice(asServiceError(reason).message);
    }
  };

  return (
    <section class="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">What is known</h2>
      {state.facts.length > 0 && (
        <ul class="facts">
          {state.facts.map(({ fact, on }) => (
            <FactRow key={keyOf(fact)} {...{ fact, on }} actor={state.actor} onToggle={toggle}>
              <button type="button" class="icon" aria-label={`Remove: ${said(fact)}`} onClick={() => change(dropped(state, fact))}>
                <CloseIcon />
              </button>
            </FactRow>
          ))}
        </ul>
      )}
      {stored.length > 0 && (
        <>
          <h3>Stored in the service</h3>
          <ul class="facts">
            {stored.map((fact) => (
              <FactRow key={fact.id} fact={fact} on={isOn(state, fact)} actor={state.actor} onToggle={toggle}>
                <button
                  type="button"
                  class="icon"
                  aria-label={`Remove from the service: ${said(fact)}`}
                  onClick={() => void forget(fact)}
                >
                  <CloseIcon />
                </button>
              </FactRow>
            ))}
          </ul>
        </>
      )}
      {aside.length > 0 && (
        <>
          <h3>Set aside from what the model knows</h3>
          <ul class="facts">
            {aside.map((fact) => (
              <FactRow key={keyOf(fact)} fact={fact} on={false} actor={state.actor} onToggle={toggle} />
            ))}
          </ul>
        </>
      )}
      {nothing && <p class="hint">Nothing yet. One dated fact is enough to ask.</p>}
      {known > 0 && !state.facts.length && !stored.length && (
        <p class="hint">{counted(known, "fact")} that the model was trained on. Add what it cannot know yet.</p>
      )}
      {adding || nothing ? (
        <FactForm
          actor={state.actor}
          model={model}
          onAdd={(fact) => {
            setAdding(true);
            change(withFact(state, fact));
          }}
          {...(nothing ? {} : { onClose: () => setAdding(false) })}
        />
      ) : (
        <div class="row">
          <button type="button" class="quiet small" onClick={() => setAdding(true)}>
            Add a fact
          </button>
          {state.facts.some(({ on }) => on) && (
            <button
              type="button"
              class="quiet small"
              title="Keeps the facts for later questions; others who use this service will see them"
              onClick={() => void keep()}
            >
              Store in the service
            </button>
          )}
        </div>
      )}
    </section>
  );
}

interface RowProps {
  readonly fact: Fact;
  readonly on: boolean;
  readonly actor: string;
  readonly onToggle: (fact: Fact, on: boolean) => void;
  readonly children?: JSX.Element;
}

function FactRow({ fact, on, actor, onToggle, children }: RowProps): JSX.Element {
  return (
    <li class={on ? "fact" : "fact off"}>
      <button
        type="button"
        role="switch"
        class="switch"
        aria-checked={on}
        aria-label={`Known: ${said(fact)}`}
        onClick={() => onToggle(fact, !on)}
      />
      <div class="fact-text">
        <FactLine fact={fact} actor={actor} />
        <span class="date">{fact.time}</span>
      </div>
      {children}
    </li>
  );
}

/** A fact as it concerns the actor, whose own name goes without saying. */
function FactLine({ fact, actor }: { readonly fact: Fact; readonly actor: string }): JSX.Element {
  if (fact.subject === actor) {
    return (
      <span>
        <span class="verb">{fact.relation}</span> <span class="arrow">→</span> {fact.object}
      </span>
    );
  }
  const object = fact.object === actor ? "it" : fact.object;
  return (
    <span>
      {fact.subject} <span class="arrow">—</span> <span class="verb">{fact.relation}</span> <span class="arrow">→</span> {object}
    </span>
  );
}

function said(fact: Fact): string {
  return `${fact.subject}, ${fact.relation}, ${fact.object}, ${fact.time}`;
}

function keyOf(fact: Fact): string {
  return [fact.subject, fact.relation, fact.object, fact.time].join("\t");
}
