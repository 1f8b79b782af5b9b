/** Elements and style sheet of the graph for cytoscape.js; colours are the CSS variables of the page. */

import type { ElementDefinition, StylesheetJson } from "cytoscape";
import type { GraphLayout } from "./layout";
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

/** Elements with `always` set are never faded. */
export function toElements({ nodes, edges }: GraphLayout): ElementDefinition[] {
  return [
    ...nodes.map(({ id, label, role, x, y, width, height, paths }) => ({
      group: "nodes" as const,
      data: { id: `n:${id}`, label, width, height, paths, always: role === "entity" || role === "answer" },
      position: { x, y },
      classes: `${role}-node`,
    })),
    ...edges.map(({ id, source, target, label, kind, bend, paths }) => ({
      group: "edges" as const,
      data: {
        id: `e:${id}`,
        source: `n:${source}`,
        target: `n:${target}`,
        label,
        // The midpoint of a quadratic curve is half as far from the straight line as its control point.
        bend: bend * 2,
        paths,
        always: kind === "predicted",
      },
      classes: `${kind}-edge`,
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
    { selector: ".context-node", style: { "border-style": "dashed", color: colour("--muted") } },
    {
      selector: "edge",
      style: {
        ...font,
        "font-size": FONT_SIZE - 1,
        label: "data(label)",
        width: 1.6,
        "curve-style": "unbundled-bezier",
        "control-point-distances": "data(bend)" as unknown as number,
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
        "text-background-padding": "3px",
        "overlay-opacity": 0,
      },
    },
    {
      selector: ".predicted-edge",
      style: {
        "line-style": "dashed",
        "line-color": colour("--accent"),
        "target-arrow-color": colour("--accent"),
        color: colour("--accent"),
      },
    },
    { selector: ".context-edge", style: { "line-style": "dotted", color: colour("--muted") } },
    { selector: ".faded", style: { opacity: 0.22 } },
  ];
}
