/** Radio buttons in a row, styled as one control. */

import type { JSX } from "preact";
import { useId } from "preact/hooks";

interface Props<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}

export function SegmentedControl<Value extends string>({ label, value, options, onChange }: Props<Value>): JSX.Element {
  const name = useId();
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([option, text]) => (
        <label key={option} class={option === value ? "chosen" : ""}>
          <input type="radio" name={name} value={option} checked={option === value} onChange={() => onChange(option)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
