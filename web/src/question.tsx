import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Change } from "./address";
import { Combobox } from "./combobox";
import { relationChoices } from "./completion";
import type { Model } from "./contract";
import { Segments } from "./segments";
import type { State } from "./state";
import { TimeField } from "./time-field";

interface Props {
  readonly state: State;
  readonly model: Model | null;
  readonly change: Change;
}

export function QuestionPanel({ state, model, change }: Props): JSX.Element {
  const granularity = model?.granularity ?? "day";
  const today = model?.last_time ?? "";
  useEffect(() => {
    if (!state.at && today) change({ ...state, at: today }, "replace");
  }, [state.at, today]);
  return (
    <section class="panel" aria-labelledby="question-title">
      <h2 id="question-title">The question</h2>
      <Segments
        label="Which end is asked for"
        value={state.side}
        options={[
          ["subject", "By it, to whom?"],
          ["object", "To it, by whom?"],
        ]}
        onChange={(side) => change({ ...state, side, pick: "" })}
      />
      <Combobox
        label="Relation"
        value={state.relation}
        placeholder="What will happen?"
        search={relationChoices}
        onChoose={(relation) => change({ ...state, relation, pick: "" })}
      />
      <TimeField label="When" value={state.at} granularity={granularity} onChange={(at) => change({ ...state, at }, "replace")} />
      <div class="knowledge">
        <label class="check">
          <input
            type="checkbox"
            checked={state.asOf !== ""}
            onChange={(event) => change({ ...state, asOf: event.currentTarget.checked ? state.at || today : "" })}
          />
          Use only what was known by a date
        </label>
        {state.asOf && (
          <TimeField
            label="Known as of"
            value={state.asOf}
            granularity={granularity}
            onChange={(asOf) => change({ ...state, asOf }, "replace")}
          />
        )}
      </div>
    </section>
  );
}
