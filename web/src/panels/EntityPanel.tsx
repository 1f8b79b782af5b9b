/** The entity of the query and what the service knows about it. */

import type { JSX } from "preact";
import { Combobox } from "../components/Combobox";
import { suggestEntities } from "../components/suggestions";
import { currentInfo, type EntityInfo } from "../hooks/usePrediction";
import type { AsyncValue } from "../hooks/useAsync";
import type { UpdateState } from "../hooks/useUrlState";
import { pluralize } from "../state/format";
import { setEntity, type State } from "../state/state";

interface Props {
  readonly state: State;
  readonly info: AsyncValue<EntityInfo>;
  readonly update: UpdateState;
}

export function EntityPanel({ state, info, update }: Props): JSX.Element {
  const current = currentInfo(info, state);
  return (
    <section class="panel" aria-label="Entity">
      <EntityField state={state} update={update} />
      <p class="hint entity-info" aria-live="polite">
        {current ? <EntityStatus info={current} /> : " "}
      </p>
    </section>
  );
}

export function EntityField({ state, update }: Omit<Props, "info">): JSX.Element {
  return (
    <Combobox
      large
      label="Entity"
      value={state.entity}
      placeholder="Enter a known or new entity"
      search={suggestEntities}
      newOption="new entity"
      onChoose={(entity) => update(setEntity(state, entity))}
    />
  );
}

function EntityStatus({ info: { known, entry } }: { readonly info: EntityInfo }): JSX.Element {
  if (!known) {
    return (
      <>
        <span class="badge new">New</span> Not in the training data. Predictions use the facts below.
      </>
    );
  }
  const details = [...(entry?.concepts ?? []), ...(entry ? [pluralize(entry.facts, "fact")] : [])].join(" · ");
  return (
    <>
      <span class="badge">Known</span> {details}
    </>
  );
}
