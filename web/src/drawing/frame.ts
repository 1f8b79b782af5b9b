/** Nodes, edges and notes of a picture, and the frame around them. */

import type { MeasureText } from "./wrapText";

export type NodeRole = "entity" | "answer" | "intermediate";
/** `unfollowed`: a fact that the search of the model does not follow (peers and context). */
export type EdgeKind = "fact" | "predicted" | "unfollowed";

/** A rectangle, given by its centre and its size. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface GraphNode extends Box {
  readonly id: string;
  readonly label: string;
  readonly role: NodeRole;
  /** Index of the path; null for the entity and the answer. */
  readonly path: number | null;
}

export interface GraphEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly label: string;
  readonly kind: EdgeKind;
  /** Whether the fact is later than the query. */
  readonly later: boolean;
  /** Distance of the edge's midpoint from the straight line in pixels, to the right of the edge's direction. */
  readonly bend: number;
  /** Vertical distance of the label from the midpoint. */
  readonly labelShift: number;
  /** Index of the path; null for the predicted link. */
  readonly path: number | null;
}

/** Text under a lane. */
export interface GraphNote extends Box {
  readonly id: string;
  readonly label: string;
  readonly path: number;
}

export interface GraphLayout {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly notes: readonly GraphNote[];
  readonly width: number;
  readonly height: number;
}

const LABEL_LINE = 14;
/** The distance of a control point depends on where the edge leaves its nodes, and that on the distance. */
const ROUNDS = 5;

/** Height of a label in pixels. */
export function labelHeight(label: string): number {
  return label.split("\n").length * LABEL_LINE + 2;
}

/** Box of an edge label, at the midpoint of the bent edge or above it. */
export function labelBox(edge: GraphEdge, nodes: readonly GraphNode[], measure: MeasureText): Box {
  const [from, to] = [positionOf(edge.source, nodes), positionOf(edge.target, nodes)];
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  return {
    x: from.x + dx / 2 - (dy / length) * edge.bend,
    y: from.y + dy / 2 + (dx / length) * edge.bend + edge.labelShift,
    width: Math.max(...edge.label.split("\n").map(measure)),
    height: labelHeight(edge.label),
  };
}

/**
 * Distance of the control point of an edge from the straight line between its nodes.
 *
 * The edge is a quadratic curve between the borders of its nodes, where lines from their centres to the control point
 * leave them. Its midpoint has the distance `bend`.
 */
export function controlDistance(edge: GraphEdge, nodes: readonly GraphNode[]): number {
  const [from, to] = [positionOf(edge.source, nodes), positionOf(edge.target, nodes)];
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [alongX, alongY] = [(to.x - from.x) / length, (to.y - from.y) / length];
  let distance = 2 * edge.bend;
  for (let round = 0; round < ROUNDS; round++) {
    const parts = [from, to].map((box, end) => {
      const along = (end ? -length : length) / 2;
      const [dx, dy] = [alongX * along - alongY * distance, alongY * along + alongX * distance];
      return Math.min(box.width / 2 / Math.abs(dx || 1e-9), box.height / 2 / Math.abs(dy || 1e-9), 1);
    });
    distance = (2 * edge.bend) / (1 + ((parts[0] ?? 0) + (parts[1] ?? 0)) / 2);
  }
  return distance;
}

/** Translates everything so that all boxes are inside the frame, centred horizontally. */
export function fitToFrame(
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
  notes: readonly GraphNote[],
  width: number,
  margin: number,
  measure: MeasureText,
): GraphLayout {
  const boxes: readonly Box[] = [...nodes, ...notes, ...edges.map((edge) => labelBox(edge, nodes, measure))];
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2));
  const right = Math.max(...boxes.map((box) => box.x + box.width / 2));
  const top = Math.min(...boxes.map((box) => box.y - box.height / 2));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height / 2));
  const [x, y] = [(width - (left + right)) / 2, margin - top];
  const translated = <Item extends Box>(items: readonly Item[]): Item[] =>
    items.map((item) => ({ ...item, x: item.x + x, y: item.y + y }));
  return { nodes: translated(nodes), edges, notes: translated(notes), width, height: bottom - top + 2 * margin };
}

function positionOf(id: string, nodes: readonly GraphNode[]): Box {
  return nodes.find((node) => node.id === id) ?? { x: 0, y: 0, width: 0, height: 0 };
}
