/** Form that adds facts about the entity, one at a time. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Fact, Model, Side } from "../api/types";
import { Combobox } from "../components/Combobox";
import { SegmentedControl } from "../components/SegmentedControl";
import { suggestEntities, suggestRelations } from "../components/suggestions";
import { TimeField } from "../components/TimeField";
import { DEFAULT_GRANULARITY } from "../state/time";

interface Props {
  readonly entity: string;
  readonly model: Model | null;
  readonly onAdd: (fact: Fact) => void;
  /** Without it, the form cannot be closed. */
  readonly onClose?: () => void;
}

export function FactForm({ entity, model, onAdd, onClose }: Props): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const [side, setSide] = useState<Side>("subject");
  const [relation, setRelation] = useState("");
  const [other, setOther] = useState("");
  const [time, setTime] = useState("");
  const [missing, setMissing] = useState("");
  const otherSide = side === "subject" ? "object" : "subject";
  useEffect(() => {
    if (onClose) firstField(form.current)?.focus();
  }, []);
  useEffect(() => {
    if (!time && model) setTime(model.last_time);
  }, [model]);

  const submit = (event: Event): void => {
    event.preventDefault();
    const needed = relation ? (other ? (time ? "" : "a time") : `the ${otherSide}`) : "a relation";
    setMissing(needed);
    if (needed) return;
    const [subject, object] = side === "subject" ? [entity, other] : [other, entity];
    onAdd({ subject, relation, object, time });
    setRelation("");
    setOther("");
    firstField(form.current)?.focus();
  };

  return (
    <form
      ref={form}
      class="fact-form"
      aria-label="New fact"
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose?.();
      }}
    >
      <SegmentedControl
        label="Position of the entity in the fact"
        value={side}
        options={[
          ["subject", "Entity is subject"],
          ["object", "Entity is object"],
        ]}
        onChange={setSide}
      />
      <Combobox
        label="Relation"
        value={relation}
        placeholder="Choose a relation"
        search={suggestRelations}
        onChoose={setRelation}
      />
      <Combobox
        label={side === "subject" ? "Object" : "Subject"}
        value={other}
        placeholder="Choose an entity"
        search={suggestEntities}
        newOption="new entity"
        onChoose={setOther}
      />
      <TimeField
        label="Time"
        value={time}
        granularity={model?.granularity ?? DEFAULT_GRANULARITY}
        onChange={setTime}
      />
      {missing && (
        <p class="problem" role="alert">
          Choose {missing}.
        </p>
      )}
      <div class="row">
        <button type="submit">Add fact</button>
        {onClose && (
          <button type="button" class="secondary" onClick={onClose}>
            Close
          </button>
        )}
      </div>
    </form>
  );
}

function firstField(form: HTMLFormElement | null): HTMLInputElement | null {
  return form?.querySelector<HTMLInputElement>("[role=combobox]") ?? null;
}
