/** Text field with suggestions, for keyboard and pointer (the ARIA combobox pattern with a listbox). */

import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { useAsync } from "../hooks/useAsync";

export interface Suggestion {
  readonly value: string;
  readonly detail?: string;
}

interface Props {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly search: (text: string, signal: AbortSignal) => Promise<readonly Suggestion[]>;
  readonly onChoose: (value: string) => void;
  /** If given, text that matches no suggestion is offered as an option with this detail. */
  readonly newOption?: string;
  readonly large?: boolean;
}

const DEBOUNCE_MS = 120;

export function Combobox({ label, value, placeholder, search, onChoose, newOption, large }: Props): JSX.Element {
  const id = useId();
  const [draft, setDraft] = useState(value);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  useEffect(() => setDraft(value), [value]);

  const text = draft === value ? "" : draft.trim();
  const found = useAsync(open ? text : null, (signal) => search(text, signal), text ? DEBOUNCE_MS : 0);
  const suggestions = open ? (found.value ?? []) : [];
  const match = suggestions.find((suggestion) => equalIgnoringCase(suggestion.value, text));
  const options = newOption && text && !match ? [...suggestions, { value: text, detail: newOption }] : suggestions;

  const choose = (chosen: string): void => {
    setOpen(false);
    setActive(-1);
    setDraft(chosen);
    if (chosen !== value) onChoose(chosen);
  };

  const acceptText = (): void => {
    if (open) choose(text === "" ? value : (match?.value ?? text));
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      setActive(nextIndex(active, event.key === "ArrowDown" ? 1 : -1, options.length));
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      const option = options[active];
      if (option) choose(option.value);
      else acceptText();
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
          onBlur={acceptText}
        />
        <ul class="options" role="listbox" id={`${id}-list`} aria-label={label} hidden={!open || !options.length}>
          {options.map((option, index) => (
            <li
              key={option.value}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              ref={(element) => {
                if (index === active) element?.scrollIntoView({ block: "nearest" });
              }}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(option.value)}
            >
              <span class="option-name">
                <HighlightedText text={option.value} part={text} />
              </span>
              {option.detail && <span class="option-detail">{option.detail}</span>}
            </li>
          ))}
        </ul>
      </div>
      <span class="visually-hidden" role="status">
        {open && !found.pending ? `${options.length} suggestions` : ""}
      </span>
    </div>
  );
}

function HighlightedText({ text, part }: { readonly text: string; readonly part: string }): JSX.Element {
  const start = part ? text.toLowerCase().indexOf(part.toLowerCase()) : -1;
  if (start < 0) return <>{text}</>;
  const end = start + part.length;
  return (
    <>
      {text.slice(0, start)}
      <mark>{text.slice(start, end)}</mark>
      {text.slice(end)}
    </>
  );
}

function equalIgnoringCase(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The next index of a cyclic list; -1 (no selection) moves to the first or the last item. */
function nextIndex(index: number, step: number, length: number): number {
  if (!length) return -1;
  return index < 0 ? (step > 0 ? 0 : length - 1) : (index + step + length) % length;
}
