/** The paths of an answer in words, with the facts of each. */

import type { JSX } from "preact";
import type { Fact, Path, Step } from "../../api/types";
import { ExcludeButton } from "../../components/ExcludeButton";
import { WholeFact } from "../../components/FactRow";
import { pathKey, pathKindText, pathTitle, repeatsText, withoutPathText } from "../../state/explanation";
import { formatPercent } from "../../state/format";

interface Props {
  readonly paths: readonly Path[];
  /** Index of the highlighted path; negative for none. */
  readonly chosen: number;
  readonly onChoose: (path: Path) => void;
  readonly onExclude: (facts: readonly Fact[]) => void;
}

export function PathList({ paths, chosen, onChoose, onExclude }: Props): JSX.Element {
  return (
    <section aria-labelledby="paths-title">
      <h3 id="paths-title" class="paths-title">
        {paths.some(({ kind }) => kind === "path") ? "Paths" : "No path leads to this answer"}
      </h3>
      <ol class="paths">
        {paths.map((path, index) => (
          <PathCard
            key={pathKey(path)}
            path={path}
            number={index + 1}
            chosen={chosen === index}
            only={paths.length === 1}
            onChoose={() => onChoose(path)}
            onExclude={onExclude}
          />
        ))}
      </ol>
    </section>
  );
}

interface PathProps extends Pick<Props, "onExclude"> {
  readonly path: Path;
  readonly number: number;
  readonly chosen: boolean;
  readonly only: boolean;
  readonly onChoose: () => void;
}

function PathCard({ path, number, chosen, only, onChoose, onExclude }: PathProps): JSX.Element {
  const kind = pathKindText(path);
  const notes = [repeatsText(path), withoutPathText(path)].filter((note) => note !== null);
  return (
    <li class={chosen ? "path chosen" : "path"}>
      <div class="path-head">
        <h4>
          {pathTitle(path, number)}
          {kind && <span class="path-kind"> {kind}</span>}
        </h4>
        {!only && (
          <button
            type="button"
            class="secondary small"
            aria-pressed={chosen}
            aria-label={`Show path ${number} in the graph`}
            onClick={onChoose}
          >
            Show
          </button>
        )}
      </div>
      <p class="sentence">{withUnbrokenDates(path.text)}</p>
      {notes.length > 0 && <p class="path-notes">{withUnbrokenDates(notes.join("; "))}</p>}
      <ul class="steps">
        {path.steps.map((step, index) => (
          <StepRow key={index} step={step} onExclude={onExclude} />
        ))}
      </ul>
    </li>
  );
}

interface StepProps extends Pick<Props, "onExclude"> {
  readonly step: Step;
}

function StepRow({ step, onExclude }: StepProps): JSX.Element {
  const { probability, confidence } = step;
  return (
    <li>
      <span class="date">{step.time}</span>
      <span class="step-fact">
        {step.after_question && <span class="badge">after the question</span>} <WholeFact fact={step} />
      </span>
      <span class="step-numbers">
        {probability !== null && <span title="Probability of this step">{formatPercent(probability)}</span>}
        {confidence !== null && <span title="Confidence of this step">conf. {confidence.toFixed(2)}</span>}
      </span>
      <ExcludeButton fact={step} onExclude={onExclude} />
    </li>
  );
}

/** The text with each date protected from line breaks. */
function withUnbrokenDates(text: string): (string | JSX.Element)[] {
  return text
    .split(/(\d{4}-\d{2}(?:-\d{2})?)/)
    .map((part, index) => (index % 2 ? <span class="nowrap">{part}</span> : part));
}
