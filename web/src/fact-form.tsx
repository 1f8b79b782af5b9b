import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Combobox } from "./combobox";
import { entityChoices, relationChoices } from "./completion";
import type { Fact, Model, Side } from "./contract";
import { Segments } from "./segments";
import { TimeField } from "./time-field";

interface Props {
  readonly actor: string;
  readonly model: Model | null;
  readonly onAdd: (fact: Fact) => void;
  readonly onClose?: () => void;
}

export function FactForm({ actor, model, onAdd, onClose }: Props): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const [side, setSide] = useState<Side>("subject");
  const [relation, setRelation] = useState("");
  const [other, setOther] = useState("");
  const [time, setTime] = useState("");
  const [missing, setMissing] = useState("");
  useEffect(() => {
    if (onClose) firstField(form.current)?.focus();
  }, []);
  useEffect(() => {
    if (!time && model) setTime(model.last_time);
  }, [model]);

  const add = (event: Event): void => {
    event.preventDefault();
    const lacking = relation ? (other ? (time ? "" : "a date") : "the other actor") : "a relation";
    setMissing(lacking);
    if (lacking) return;
    onAdd(side === "subject" ? { subject: actor, relation, object: other, time } : { subject: other, relation, object: actor, time });
    setRelation("");
    setOther("");
    firstField(form.current)?.focus();
  };

  return (
    <form
      ref={form}
      class="fact-form"
      aria-label="Add a fact"
      onSubmit={add}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose?.();
      }}
    >
      <Segments
        label="Direction of the fact"
        value={side}
        options={[
          ["subject", "By it, to somebody"],
          ["object", "To it, by somebody"],
        ]}
        onChange={setSide}
      />
      <Combobox label="What was done" value={relation} placeholder="Relation" search={relationChoices} onChoose={setRelation} />
      <Combobox
        label={side === "subject" ? "To whom" : "By whom"}
        value={other}
        placeholder="Actor"
        search={entityChoices}
        fresh="not known to the model"
        onChoose={setOther}
      />
      <TimeField label="When" value={time} granularity={model?.granularity ?? "day"} onChange={setTime} />
      {missing && (
        <p class="problem" role="alert">
          A fact needs {missing}.
        </p>
      )}
      <div class="row">
        <button type="submit">Add fact</button>
        {onClose && (
          <button type="button" class="quiet" onClick={onClose}>
            Done
          </button>
        )}
      </div>
    </form>
  );
}

function firstField(form: HTMLFormElement | null): HTMLInputElement | null {
  return form?.querySelector<HTMLInputElement>("[role=combobox]") ?? null;
}
