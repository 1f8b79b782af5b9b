/** A text field that completes names, by keyboard and by pointer (the ARIA combobox pattern with a list). */

import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLoaded } from "./loaded";

export interface Choice {
  readonly value: string;
  readonly detail?: string;
}

interface Props {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly search: (text: string, signal: AbortSignal) => Promise<readonly Choice[]>;
  readonly onChoose: (value: string) => void;
  /** What a name that is not in the list would be, such as "New actor"; names must be in the list without it. */
  readonly fresh?: string;
  readonly large?: boolean;
}

const PAUSE = 120;

export function Combobox({ label, value, placeholder, search, onChoose, fresh, large }: Props): JSX.Element {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState(value);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  useEffect(() => setDraft(value), [value]);

  const wanted = draft === value ? "" : draft.trim();
  const found = useLoaded(open ? wanted : null, (signal) => search(wanted, signal), wanted ? PAUSE : 0);
  const choices = open ? (found.value ?? []) : [];
  const unknown = wanted !== "" && !choices.some((choice) => same(choice.value, wanted));
  const options = fresh && unknown ? [...choices, { value: wanted, detail: fresh }] : choices;

  const choose = (chosen: string): void => {
    setOpen(false);
    setActive(-1);
    setDraft(chosen);
    if (chosen !== value) onChoose(chosen);
  };

  const leave = (): void => {
    if (!open) return;
    const known = choices.find((choice) => same(choice.value, wanted));
    choose(wanted === "" ? value : (known?.value ?? wanted));
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      setActive(stepped(active, event.key === "ArrowDown" ? 1 : -1, options.length));
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      const option = options[active];
      if (option) choose(option.value);
      else leave();
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
      setActive(-1);
      setDraft(value);
    }
  };

  return (
    <div class={large ? "field large" : "field"}>
      <label for={id}>{label}</label>
      <div class="combobox">
        <input
          ref={input}
          id={id}
          type="text"
          role="combobox"
          autocomplete="off"
          spellcheck={false}
          aria-autocomplete="list"
          aria-expanded={open && options.length > 0}
          aria-controls={`${id}-list`}
          {...(options[active] ? { "aria-activedescendant": `${id}-${active}` } : {})}
          placeholder={placeholder ?? ""}
          value={draft}
          onFocus={(event) => event.currentTarget.select()}
          onClick={() => setOpen(true)}
          onInput={(event) => {
            setDraft(event.currentTarget.value);
            setActive(-1);
            setOpen(true);
          }}
          onKeyDown={onKeyDown}
          onBlur={leave}
        />
        <ul class="options" role="listbox" id={`${id}-list`} aria-label={label} hidden={!open || !options.length}>
          {options.map((option, place) => (
            <li
              key={option.value}
              id={`${id}-${place}`}
              role="option"
              aria-selected={place === active}
              ref={(element) => {
                if (place === active) element?.scrollIntoView({ block: "nearest" });
              }}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(option.value)}
            >
              <span class="option-name">
                <Marked text={option.value} part={wanted} />
              </span>
              {option.detail && <span class="option-detail">{option.detail}</span>}
            </li>
          ))}
        </ul>
      </div>
      <span class="unseen" role="status">
        {open && !found.busy ? `${options.length} suggestions` : ""}
      </span>
    </div>
  );
}

function Marked({ text, part }: { readonly text: string; readonly part: string }): JSX.Element {
  const place = part ? text.toLowerCase().indexOf(part.toLowerCase()) : -1;
  if (place < 0) return <>{text}</>;
  const end = place + part.length;
  return (
    <>
      {text.slice(0, place)}
      <mark>{text.slice(place, end)}</mark>
      {text.slice(end)}
    </>
  );
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The next place in a list, around its ends; from nowhere (-1) to the first or the last. */
function stepped(place: number, by: number, length: number): number {
  if (!length) return -1;
  return place < 0 ? (by > 0 ? 0 : length - 1) : (place + by + length) % length;
}
