/** An answer's paths, drawn by cytoscape.js; the same in words stands below the picture. */

import type { Core, ElementDefinition, StylesheetJson } from "cytoscape";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Path } from "./contract";
import { drawing, NARROW, type Asked, type Drawing } from "./drawing";
import { PictureIcon } from "./icons";
import type { Theme } from "./theme";

interface Props {
  readonly asked: Asked;
  readonly paths: readonly Path[];
  /** The path that stands out; null for all alike. */
  readonly chosen: number | null;
  readonly theme: Theme;
}

const FONT = 12;
/** Room that is left between a label and the edge of the picture. */
const EDGE = 6;

export function Picture({ asked, paths, chosen, theme }: Props): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const core = useRef<Core | null>(null);
  const width = useWidth(frame);
  const [height, setHeight] = useState(220);

  useEffect(() => {
    let gone = false;
    const place = frame.current;
    if (!place || !width) return undefined;
    void import("cytoscape").then(({ default: cytoscape }) => {
      if (gone) return;
      const plan = drawing(asked, shown(paths, chosen, width), width, measure(place));
      place.style.height = `${plan.height}px`;
      core.current = cytoscape({
        container: place,
        elements: elementsOf(plan),
        style: stylesheet(place),
        layout: { name: "preset", fit: false },
        userZoomingEnabled: false,
        userPanningEnabled: false,
        boxSelectionEnabled: false,
        autoungrabify: true,
        autounselectify: true,
      });
      core.current.zoom(1);
      const { above, below } = overhang(core.current, plan.height);
      place.style.height = `${plan.height + above + below}px`;
      setHeight(plan.height + above + below);
      core.current.resize();
      core.current.pan({ x: 0, y: above });
      place.dataset["drawn"] = String(plan.edges.length);
    });
    return () => {
      gone = true;
      delete place.dataset["drawn"];
      core.current?.destroy();
      core.current = null;
    };
  }, [JSON.stringify([asked, paths]), width, theme, width < NARROW ? chosen : null]);

  useEffect(() => {
    const faded = (on: readonly number[]): boolean => chosen !== null && width >= NARROW && !on.includes(chosen);
    core.current?.elements().forEach((element) => {
      element.toggleClass("faded", element.data("always") !== true && faded(element.data("paths") as number[]));
    });
  }, [chosen, width]);

  const save = (): void => {
    const place = frame.current;
    if (!core.current || !place) return;
    const link = document.createElement("a");
    link.href = core.current.png({ scale: 2, bg: colour(place, "--card") });
    link.download = `${asked.actor} – ${asked.answer}.png`.replace(/[/\\:*?"<>|]/g, "_");
    link.click();
  };

  return (
    <figure class="picture">
      <div
        ref={frame}
        class="canvas"
        role="img"
        aria-label={`Drawing of how ${asked.actor} and ${asked.answer} are connected. ${paths.map(({ text }) => text).join(" ")}`}
        style={{ height: `${height}px` }}
      />
      <button type="button" class="icon save" aria-label="Save the picture" title="Save the picture" onClick={save}>
        <PictureIcon />
      </button>
    </figure>
  );
}

/** How far labels, as they are really drawn, reach out of the plan. */
function overhang(core: Core, height: number): { readonly above: number; readonly below: number } {
  const { y1, y2 } = core.elements().boundingBox({ includeLabels: true });
  return { above: Math.max(0, Math.ceil(EDGE - y1)), below: Math.max(0, Math.ceil(y2 + EDGE - height)) };
}

/** On a narrow page there is room for one path: the chosen one, or the best. */
function shown(paths: readonly Path[], chosen: number | null, width: number): readonly Path[] {
  return width < NARROW ? paths.slice(chosen ?? 0, (chosen ?? 0) + 1) : paths;
}

function useWidth(frame: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const place = frame.current;
    if (!place) return undefined;
    const watch = new ResizeObserver(() => setWidth(Math.floor(place.clientWidth)));
    watch.observe(place);
    return () => watch.disconnect();
  }, []);
  return width;
}

function measure(place: HTMLElement): (text: string) => number {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return (text) => text.length * FONT * 0.55;
  context.font = `${FONT}px ${getComputedStyle(place).fontFamily}`;
  return (text) => context.measureText(text).width;
}

function elementsOf({ nodes, edges }: Drawing): ElementDefinition[] {
  return [
    ...nodes.map(({ id, label, role, x, y, width, height, paths }) => ({
      group: "nodes" as const,
      data: { id: `n:${id}`, label, width, height, paths, always: role === "actor" || role === "answer" },
      position: { x, y },
      classes: role,
    })),
    ...edges.map(({ id, source, target, label, kind, bend, paths }) => ({
      group: "edges" as const,
      // A quadratic curve's middle is half as far out as its control point.
      data: { id: `e:${id}`, source: `n:${source}`, target: `n:${target}`, label, bend: bend * 2, paths, always: kind === "asked" },
      classes: kind,
    })),
  ];
}

function colour(place: HTMLElement, name: string): string {
  return getComputedStyle(place).getPropertyValue(name).trim();
}

function stylesheet(place: HTMLElement): StylesheetJson {
  const of = (name: string): string => colour(place, name);
  const font = { "font-family": getComputedStyle(place).fontFamily, "font-size": FONT };
  return [
    {
      selector: "node",
      style: {
        ...font,
        label: "data(label)",
        width: "data(width)",
        height: "data(height)",
        shape: "round-rectangle",
        "text-wrap": "wrap",
        "text-valign": "center",
        "text-halign": "center",
        "line-height": 1.2,
        color: of("--ink"),
        "background-color": of("--card"),
        "border-width": 1.2,
        "border-color": of("--line-strong"),
        "overlay-opacity": 0,
      },
    },
    { selector: ".actor", style: { "border-color": of("--link"), "border-width": 2, "background-color": of("--link-soft") } },
    {
      selector: ".answer",
      style: { "border-color": of("--accent"), "border-width": 2, "background-color": of("--accent"), color: of("--on-accent"), "font-weight": "bold" },
    },
    { selector: ".other", style: { "border-style": "dashed", color: of("--muted") } },
    {
      selector: "edge",
      style: {
        ...font,
        "font-size": FONT - 1,
        label: "data(label)",
        width: 1.6,
        "curve-style": "unbundled-bezier",
        "control-point-distances": "data(bend)" as unknown as number,
        "control-point-weights": 0.5,
        "edge-distances": "node-position",
        "line-color": of("--edge"),
        "target-arrow-color": of("--edge"),
        "target-arrow-shape": "triangle",
        "arrow-scale": 1,
        color: of("--ink"),
        "text-wrap": "wrap",
        "line-height": 1.2,
        "text-background-color": of("--card"),
        "text-background-opacity": 1,
        "text-background-padding": "3px",
        "overlay-opacity": 0,
      },
    },
    {
      selector: ".asked",
      style: { "line-style": "dashed", "line-color": of("--accent"), "target-arrow-color": of("--accent"), color: of("--accent") },
    },
    { selector: ".crowd", style: { "line-style": "dotted", color: of("--muted") } },
    { selector: ".faded", style: { opacity: 0.22 } },
  ];
}
