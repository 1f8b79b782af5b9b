/** Contributions to the score as bars: to the right of the axis for the answer, to the left against it. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Explanation } from "../../api/types";
import { WholeFact } from "../../components/FactRow";
import { evidenceTable, type EvidenceRow } from "../../state/evidence";
import { formatSigned } from "../../state/format";
import { factKey } from "../../state/state";

export function EvidenceBars({ explanation }: { readonly explanation: Explanation }): JSX.Element | null {
  const { rows, base, total } = useMemo(() => evidenceTable(explanation.evidence), [explanation]);
  if (!explanation.evidence.length) return null;
  return (
    <section class="evidence" aria-labelledby="evidence-title">
      <h3 id="evidence-title">Evidence</h3>
      <p class="hint">
        Contributions to the score in nats: + speaks for the answer, − against it. They are added to the score of a typical
        candidate.
      </p>
      <ul class="evidence-rows">
        {rows.map((row) => (
          <li key={row.label}>
            <Row row={row} />
          </li>
        ))}
        {base && (
          <li>
            <div class="evidence-row plain">
              <span class="evidence-label">{base.label} (start)</span>
              <Value value={base.contribution} />
            </div>
          </li>
        )}
        <li class="evidence-total">
          <div class="evidence-row plain">
            <span class="evidence-label">Score: sum of all</span>
            <Value value={total} />
          </div>
        </li>
      </ul>
    </section>
  );
}

/** A row with facts can be opened. */
function Row({ row }: { readonly row: EvidenceRow }): JSX.Element {
  const content = (
    <>
      <span class="evidence-label">{row.label}</span>
      <span class={row.contribution < 0 ? "evidence-bar against" : "evidence-bar for"} aria-hidden="true">
        <span style={{ width: `${row.length * 50}%` }} />
      </span>
      <Value value={row.contribution} />
    </>
  );
  if (!row.facts.length) return <div class="evidence-row">{content}</div>;
  return (
    <details>
      <summary class="evidence-row">{content}</summary>
      <ul class="evidence-facts">
        {row.facts.map((fact) => (
          <li key={factKey(fact)}>
            <WholeFact fact={fact} /> <span class="date">{fact.time}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Value({ value }: { readonly value: number }): JSX.Element {
  return (
    <span class="evidence-value">
      {formatSigned(value)}
      <span class="visually-hidden"> nats</span>
    </span>
  );
}
