/** A date, typed as the service writes it; arrow keys move by a day, and a calendar opens where times are days. */

import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { CalendarIcon } from "./icons";
import { sampleOf, shifted, type Granularity } from "./time";

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
    const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 7, PageDown: -7 }[event.key];
    const later = by === undefined ? null : shifted(draft.trim(), granularity, by);
    if (later !== null) {
      event.preventDefault();
      commit(later);
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
          placeholder={sampleOf(granularity)}
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
              aria-label={`Calendar for ${label.toLowerCase()}`}
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
