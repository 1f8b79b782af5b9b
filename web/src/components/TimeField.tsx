/** Time input as text. Arrow keys move the time by one unit; a calendar is offered if times are days. */

import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { CalendarIcon } from "./icons";
import { exampleTime, shiftTime, type Granularity } from "../state/time";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly granularity: Granularity;
  readonly onChange: (value: string) => void;
}

export function TimeField({ label, value, granularity, onChange }: Props): JSX.Element {
  const id = useId();
  const picker = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState(value);
  useEffect(() => setDraft(value), [value]);

  const commit = (text: string): void => {
    setDraft(text);
    if (text.trim() !== value) onChange(text.trim());
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const units = { ArrowUp: 1, ArrowDown: -1, PageUp: 7, PageDown: -7 }[event.key];
    const shifted = units === undefined ? null : shiftTime(draft.trim(), granularity, units);
    if (shifted !== null) {
      event.preventDefault();
      commit(shifted);
    } else if (event.key === "Enter") {
      commit(draft);
    }
  };

  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="time">
        <input
          id={id}
          type="text"
          autocomplete="off"
          spellcheck={false}
          inputMode={granularity === "integer" ? "numeric" : "text"}
          placeholder={exampleTime(granularity)}
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onBlur={() => commit(draft)}
        />
        {granularity === "day" && (
          <>
            <input
              ref={picker}
              class="picker"
              type="date"
              tabIndex={-1}
              aria-hidden="true"
              value={draft}
              onChange={(event) => commit(event.currentTarget.value)}
            />
            <button
              type="button"
              class="icon"
              aria-label={`Open calendar: ${label}`}
              onClick={() => picker.current?.showPicker()}
            >
              <CalendarIcon />
            </button>
          </>
        )}
      </div>
    </div>
  );
}
