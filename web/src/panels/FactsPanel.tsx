/** Facts about the entity: on the page, stored in the service, and excluded. Each can be switched on and off. */

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { api, toServiceError } from "../api/client";
import type { Fact, Model, StoredFact } from "../api/types";
import { factLabel, FactRow } from "../components/FactRow";
import { CloseIcon } from "../components/icons";
import { currentInfo, type PredictionState } from "../hooks/usePrediction";
import type { UpdateState } from "../hooks/useUrlState";
import { pluralize } from "../state/format";
import {
  addFact,
  factKey,
  isFactEnabled,
  removeFact,
  sameFact,
  setFactEnabled,
  type State,
} from "../state/state";
import { FactForm } from "./FactForm";

interface Props {
  readonly state: State;
  readonly result: PredictionState;
  readonly model: Model | null;
  readonly update: UpdateState;
  readonly notify: (message: string) => void;
}

export function FactsPanel({ state, result, model, update, notify }: Props): JSX.Element {
  const info = currentInfo(result.info, state);
  const stored = info?.stored ?? [];
  const excluded = state.without.filter((fact) => !stored.some((candidate) => sameFact(candidate, fact)));
  const empty = info !== null && !result.hasSupport && !state.facts.length && !stored.length;
  const trainingFacts = info?.entry?.facts ?? 0;
  const [adding, setAdding] = useState(false);
  const toggle = (fact: Fact, enabled: boolean): void => update(setFactEnabled(state, fact, enabled));

  /** Runs an action that changes the stored facts, then shows its message or its error. */
  const changeStore = async (action: () => Promise<string>): Promise<void> => {
    try {
      notify(await action());
      result.info.reload();
    } catch (reason) {
      notify(toServiceError(reason).message);
    }
  };

  const storeFacts = (): Promise<void> =>
    changeStore(async () => {
      const facts = state.facts.filter(({ enabled }) => enabled).map(({ fact }) => fact);
      await api.observe(facts);
      update({ ...state, facts: state.facts.filter(({ enabled }) => !enabled) });
      return `${pluralize(facts.length, "fact")} stored.`;
    });

  const removeStored = (fact: StoredFact): Promise<void> =>
    changeStore(async () => {
      await api.removeStoredFact(fact.id);
      update({ ...state, without: state.without.filter((candidate) => !sameFact(candidate, fact)) });
      return "Stored fact removed.";
    });

  return (
    <section class="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">Facts</h2>
      <FactList>
        {state.facts.map(({ fact, enabled }) => (
          <FactRow key={factKey(fact)} {...{ fact, enabled }} entity={state.entity} onToggle={toggle}>
            <RemoveButton label={`Remove: ${factLabel(fact)}`} onClick={() => update(removeFact(state, fact))} />
          </FactRow>
        ))}
      </FactList>
      <FactList title="Stored facts">
        {stored.map((fact) => (
          <FactRow key={fact.id} fact={fact} enabled={isFactEnabled(state, fact)} entity={state.entity} onToggle={toggle}>
            <RemoveButton label={`Remove stored fact: ${factLabel(fact)}`} onClick={() => void removeStored(fact)} />
          </FactRow>
        ))}
      </FactList>
      <FactList title="Excluded facts">
        {excluded.map((fact) => (
          <FactRow key={factKey(fact)} fact={fact} enabled={false} entity={state.entity} onToggle={toggle} />
        ))}
      </FactList>
      {empty && <p class="hint">No facts yet. Add one to three facts about the entity.</p>}
      {trainingFacts > 0 && !state.facts.length && !stored.length && (
        <p class="hint">{pluralize(trainingFacts, "fact")} in the training data. You can add newer facts.</p>
      )}
      {adding || empty ? (
        <FactForm
          entity={state.entity}
          model={model}
          onAdd={(fact) => {
            setAdding(true);
            update(addFact(state, fact));
          }}
          {...(empty ? {} : { onClose: () => setAdding(false) })}
        />
      ) : (
        <div class="row">
          <button type="button" class="secondary small" onClick={() => setAdding(true)}>
            Add fact
          </button>
          {state.facts.some(({ enabled }) => enabled) && (
            <button
              type="button"
              class="secondary small"
              title="Store the facts in the service for later queries. Other users of the service will see them."
              onClick={() => void storeFacts()}
            >
              Store facts
            </button>
          )}
        </div>
      )}
    </section>
  );
}

interface ListProps {
  readonly title?: string;
  readonly children: ComponentChildren[];
}

/** A list with an optional heading; nothing if the list is empty. */
function FactList({ title, children }: ListProps): JSX.Element | null {
  if (!children.length) return null;
  return (
    <>
      {title && <h3>{title}</h3>}
      <ul class="facts">{children}</ul>
    </>
  );
}

function RemoveButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }): JSX.Element {
  return (
    <button type="button" class="icon" aria-label={label} onClick={onClick}>
      <CloseIcon />
    </button>
  );
}
