/** Elements and style sheet of the graph for cytoscape.js; colours are the CSS variables of the page. */

import type { ElementDefinition, StylesheetJson } from "cytoscape";
import { controlDistance, type GraphLayout } from "./frame";
import type { MeasureText } from "./wrapText";

const FONT_SIZE = 12;

/** The value of a CSS variable. */
export function cssVariable(element: HTMLElement, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** Measures text in the font of the element. */
export function textMeasure(element: HTMLElement): MeasureText {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return (text) => text.length * FONT_SIZE * 0.55;
  context.font = `${FONT_SIZE}px ${getComputedStyle(element).fontFamily}`;
  return (text) => context.measureText(text).width;
}

/** Elements without a path are never faded. */
export function toElements({ nodes, edges, notes }: GraphLayout): ElementDefinition[] {
  return [
    ...nodes.map(({ id, label, role, x, y, width, height, path }) => ({
      group: "nodes" as const,
      data: { id: `n:${id}`, label, width, height, path },
      position: { x, y },
      classes: `${role}-node`,
    })),
    ...notes.map(({ id, label, x, y, width, height, path }) => ({
      group: "nodes" as const,
      data: { id, label, width, height, path },
      position: { x, y },
      classes: "note",
    })),
    ...edges.map((edge) => ({
      group: "edges" as const,
      data: {
        id: `e:${edge.id}`,
        source: `n:${edge.source}`,
        target: `n:${edge.target}`,
        label: edge.label,
        // The predicted link has two control points, so that it goes around the lanes; its middle is between them.
        control: edge.kind === "predicted" ? [edge.bend, edge.bend] : [controlDistance(edge, nodes)],
        labelShift: edge.labelShift,
        path: edge.path,
      },
      classes: edge.later ? `${edge.kind}-edge later-edge` : `${edge.kind}-edge`,
    })),
  ];
}

export function graphStylesheet(element: HTMLElement): StylesheetJson {
  const colour = (name: string): string => cssVariable(element, name);
  const font = { "font-family": getComputedStyle(element).fontFamily, "font-size": FONT_SIZE };
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
        color: colour("--ink"),
        "background-color": colour("--card"),
        "border-width": 1.2,
        "border-color": colour("--line-strong"),
        "overlay-opacity": 0,
      },
    },
    {
      selector: ".entity-node",
      style: { "border-color": colour("--link"), "border-width": 2, "background-color": colour("--link-soft") },
    },
    {
      selector: ".answer-node",
      style: {
        "border-color": colour("--accent"),
        "border-width": 2,
        "background-color": colour("--accent"),
        color: colour("--on-accent"),
        "font-weight": "bold",
      },
    },
    {
      selector: ".note",
      style: {
        "font-size": FONT_SIZE - 1,
        color: colour("--muted"),
        "border-width": 0,
        "background-opacity": 0.85,
      },
    },
    {
      selector: "edge",
      style: {
        ...font,
        "font-size": FONT_SIZE - 1,
        label: "data(label)",
        width: 1.6,
        "curve-style": "unbundled-bezier",
        "control-point-distances": "data(control)" as unknown as number,
        "control-point-weights": 0.5,
        "edge-distances": "node-position",
        "line-color": colour("--edge"),
        "target-arrow-color": colour("--edge"),
        "target-arrow-shape": "triangle",
        "arrow-scale": 1,
        color: colour("--ink"),
        "text-wrap": "wrap",
        "line-height": 1.2,
        "text-background-color": colour("--card"),
        "text-background-opacity": 1,
        "text-background-padding": "2px",
        "text-margin-y": "data(labelShift)" as unknown as number,
        "overlay-opacity": 0,
      },
    },
    {
      selector: ".predicted-edge",
      style: {
        "control-point-weights": [0.12, 0.88] as unknown as number,
        "line-style": "dashed",
        "line-color": colour("--accent"),
        "target-arrow-color": colour("--accent"),
        color: colour("--accent"),
      },
    },
    { selector: ".unfollowed-edge", style: { "line-style": "dashed", "line-dash-pattern": [3, 4] } },
    { selector: ".later-edge", style: { color: colour("--accent") } },
    { selector: ".faded", style: { opacity: 0.22 } },
  ];
}
