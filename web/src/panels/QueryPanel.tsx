/** The query: direction, relation, time and the optional time limit of the facts in use. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Model } from "../api/types";
import { Combobox } from "../components/Combobox";
import { SegmentedControl } from "../components/SegmentedControl";
import { suggestRelations } from "../components/suggestions";
import { TimeField } from "../components/TimeField";
import type { UpdateState } from "../hooks/useUrlState";
import type { State } from "../state/state";
import { DEFAULT_GRANULARITY, shiftTime } from "../state/time";

interface Props {
  readonly state: State;
  readonly model: Model | null;
  readonly update: UpdateState;
}

export function QueryPanel({ state, model, update }: Props): JSX.Element {
  const granularity = model?.granularity ?? DEFAULT_GRANULARITY;
  const lastTime = model?.last_time ?? "";
  useEffect(() => {
    // The next time after the data: a forecast then uses all facts.
    if (!state.at && lastTime) update({ ...state, at: shiftTime(lastTime, granularity, 1) ?? lastTime }, "replace");
  }, [state.at, lastTime]);
  return (
    <section class="panel" aria-labelledby="query-title">
      <h2 id="query-title">Query</h2>
      <SegmentedControl
        label="Position to predict"
        value={state.side}
        options={[
          ["subject", "Predict object"],
          ["object", "Predict subject"],
        ]}
        onChange={(side) => update({ ...state, side, selected: "" })}
      />
      <Combobox
        label="Relation"
        value={state.relation}
        placeholder="Choose a relation"
        search={suggestRelations}
        onChoose={(relation) => update({ ...state, relation, selected: "" })}
      />
      <TimeField
        label="Time"
        value={state.at}
        granularity={granularity}
        onChange={(at) => update({ ...state, at }, "replace")}
      />
      <div class="as-of">
        <label class="check">
          <input
            type="checkbox"
            checked={state.asOf !== ""}
            onChange={(event) => update({ ...state, asOf: event.currentTarget.checked ? state.at || lastTime : "" })}
          />
          Use only facts up to an earlier time
        </label>
        {state.asOf && (
          <TimeField
            label="As of"
            value={state.asOf}
            granularity={granularity}
            onChange={(asOf) => update({ ...state, asOf }, "replace")}
          />
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={state.hindsight}
            onChange={(event) => update({ ...state, hindsight: event.currentTarget.checked })}
          />
          Use later facts too (hindsight)
        </label>
        <p class="hint">{describeFacts(state)}</p>
      </div>
    </section>
  );
}

/** Which facts the answers are based on. */
function describeFacts({ at, asOf, hindsight }: State): string {
  if (hindsight) return asOf ? `Uses facts up to ${asOf}.` : "Uses facts of any time; later ones are marked.";
  return asOf ? `A forecast from facts up to ${asOf}.` : `A forecast from facts before ${at || "the query time"}.`;
}
