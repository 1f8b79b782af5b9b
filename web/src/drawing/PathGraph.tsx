/** The paths of an answer as a graph, drawn by cytoscape.js. The same content is listed as text below the graph. */

import type { Core } from "cytoscape";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Path } from "../api/types";
import { DownloadIcon } from "../components/icons";
import { useElementWidth } from "../hooks/useElementWidth";
import type { Theme } from "../hooks/useTheme";
import { cssVariable, graphStylesheet, textMeasure, toElements } from "./graphStyle";
import { isVertical, layoutPaths, type PredictedLink } from "./layout";

interface Props {
  readonly link: PredictedLink;
  readonly paths: readonly Path[];
  /** Index of the highlighted path; null highlights none. */
  readonly chosen: number | null;
  readonly theme: Theme;
}

/** Minimum space between a label and the border of the canvas, in pixels. */
const BORDER = 6;
const INITIAL_HEIGHT = 220;

export function PathGraph({ link, paths, chosen, theme }: Props): JSX.Element {
  const canvas = useRef<HTMLDivElement>(null);
  const core = useRef<Core | null>(null);
  const width = useElementWidth(canvas);
  const [height, setHeight] = useState(INITIAL_HEIGHT);
  const vertical = isVertical(paths, width);
  const visible = vertical ? onePath(paths, chosen) : paths;

  const fade = (): void => {
    core.current?.elements().forEach((element) => {
      const path = element.data("path") as number | null;
      element.toggleClass("faded", chosen !== null && !vertical && path !== null && path !== chosen);
    });
  };

  useEffect(() => {
    let cancelled = false;
    const container = canvas.current;
    if (!container || !width) return undefined;
    void import("cytoscape").then(({ default: cytoscape }) => {
      if (cancelled) return;
      const layout = layoutPaths(link, visible, width, textMeasure(container));
      const zoom = Math.min(1, width / layout.width);
      container.style.height = `${layout.height * zoom}px`;
      core.current = cytoscape({
        container,
        elements: toElements(layout),
        style: graphStylesheet(container),
        layout: { name: "preset", fit: false },
        userZoomingEnabled: false,
        userPanningEnabled: false,
        boxSelectionEnabled: false,
        autoungrabify: true,
        autounselectify: true,
      });
      const { above, below } = labelOverflow(core.current, layout.height);
      const total = Math.ceil((layout.height + above + below) * zoom);
      container.style.height = `${total}px`;
      setHeight(total);
      core.current.resize();
      core.current.viewport({ zoom, pan: { x: 0, y: above * zoom } });
      fade();
      container.dataset["drawn"] = String(layout.edges.length);
    });
    return () => {
      cancelled = true;
      delete container.dataset["drawn"];
      core.current?.destroy();
      core.current = null;
    };
  }, [JSON.stringify([link, visible]), width, theme]);

  useEffect(fade, [chosen, vertical]);

  const saveImage = (): void => {
    const container = canvas.current;
    if (!core.current || !container) return;
    const anchor = document.createElement("a");
    anchor.href = core.current.png({ scale: 2, bg: cssVariable(container, "--card") });
    anchor.download = `${link.entity} – ${link.answer}.png`.replace(/[/\\:*?"<>|]/g, "_");
    anchor.click();
  };

  return (
    <figure class="path-graph">
      <div
        ref={canvas}
        class="canvas"
        role="img"
        aria-label={`Paths between ${link.entity} and ${link.answer}. ${paths.map(({ text }) => text).join(" ")}`}
        style={{ height: `${height}px` }}
      />
      <button type="button" class="icon save" aria-label="Save as PNG" title="Save as PNG" onClick={saveImage}>
        <DownloadIcon />
      </button>
    </figure>
  );
}

/** How far the rendered labels extend beyond the layout, in pixels. */
function labelOverflow(core: Core, height: number): { readonly above: number; readonly below: number } {
  const { y1, y2 } = core.elements().boundingBox({ includeLabels: true });
  return { above: Math.max(0, Math.ceil(BORDER - y1)), below: Math.max(0, Math.ceil(y2 + BORDER - height)) };
}

/** A vertical picture has room for one path: the chosen one, or the first. */
function onePath(paths: readonly Path[], chosen: number | null): readonly Path[] {
  return paths.slice(chosen ?? 0, (chosen ?? 0) + 1);
}
