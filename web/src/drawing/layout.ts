/**
 * Layout of the paths of an answer: the entity at one end, the answer at the other, one lane per path.
 *
 * Pure functions: positions in pixels depend only on the names, the width and a function that measures text. An edge has
 * the direction of its fact, even if the path traverses the fact in the inverse direction.
 */

import type { Path, Side, Step } from "../api/types";
import { wrapText, type MeasureText } from "./wrapText";

export type NodeRole = "entity" | "answer" | "intermediate" | "context";
export type EdgeKind = "fact" | "predicted" | "context";

/** A rectangle, given by its centre and its size. */
interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface GraphNode extends Box {
  readonly id: string;
  readonly label: string;
  readonly role: NodeRole;
  readonly paths: readonly number[];
}

export interface GraphEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly label: string;
  readonly kind: EdgeKind;
  /** Distance of the edge's midpoint from the straight line in pixels, to the right of the edge's direction. */
  readonly bend: number;
  /** Indices of the paths that use the edge; empty for the predicted link. */
  readonly paths: readonly number[];
}

export interface GraphLayout {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
  readonly height: number;
}

/** The predicted link between the entity and the answer. */
export interface PredictedLink {
  readonly entity: string;
  readonly answer: string;
  readonly side: Side;
  readonly relation: string;
  readonly at: string;
}

const NODE_WIDTH = 122;
const LINE_HEIGHT = 16;
const PADDING = 8;
/** Distance between lanes in the horizontal layout. */
const LANE_GAP = 106;
/** Distance between consecutive nodes of a path in the vertical layout. */
const STEP_GAP = 136;
const MARGIN = 8;
/** Space for each further edge between the same two nodes, in lanes. */
const PARALLEL_GAP = 0.7;
/** Below this width the layout is vertical. */
export const NARROW_WIDTH = 500;

export function layoutPaths(link: PredictedLink, paths: readonly Path[], width: number, measure: MeasureText): GraphLayout {
  const builder = new LayoutBuilder(link);
  const indexed = paths.map((path, index) => ({ path, index }));
  const fromEntity = indexed.filter(({ path }) => !path.is_context);
  const context = indexed.filter(({ path }) => path.is_context);
  for (const { path, index } of [...fromEntity, ...context]) builder.add(path, index);
  return builder.build(width, measure);
}

interface NodeDraft {
  readonly role: NodeRole;
  /** Position along the path: 0 at the entity, 1 at the answer. */
  readonly along: number;
  /** Lane of the node; null for the axis between the entity and the answer. */
  readonly lane: number | null;
  readonly paths: number[];
}

interface EdgeDraft {
  readonly source: string;
  readonly target: string;
  readonly relation: string;
  readonly times: string[];
  readonly kind: EdgeKind;
  /** Lane of an edge that connects the entity and the answer directly; null for other edges. */
  readonly lane: number | null;
  readonly paths: number[];
}

/** Collects nodes and edges path by path, then computes their positions. */
class LayoutBuilder {
  private readonly nodes = new Map<string, NodeDraft>();
  private readonly edges = new Map<string, EdgeDraft>();
  private lanes = 0;

  constructor(private readonly link: PredictedLink) {
    const { entity, answer, side, relation, at } = link;
    this.nodes.set(entity, { role: "entity", along: 0, lane: null, paths: [] });
    this.nodes.set(answer, { role: "answer", along: 1, lane: null, paths: [] });
    const [source, target] = side === "subject" ? [entity, answer] : [answer, entity];
    const draft = { source, target, relation: `${relation}?`, times: [at], lane: this.lanes++, paths: [] };
    this.edges.set("predicted", { ...draft, kind: "predicted" });
  }

  add(path: Path, index: number): void {
    const first = path.steps[0];
    if (!first) return;
    const names = [startOf(first), ...path.steps.map(endOf)];
    const hasNewNode = names.some((name) => !this.nodes.has(name));
    const hasNewDirectEdge = path.steps.some((step) => this.isDirect(step) && !this.edges.has(edgeKey(step)));
    const lane = hasNewNode || hasNewDirectEdge ? this.lanes++ : null;
    // A context fact does not start at the entity, so it starts halfway to the answer.
    const start = path.is_context ? 0.5 : 0;
    names.forEach((name, position) => {
      this.addNode(name, start + (position / path.steps.length) * (1 - start), lane, path.is_context, index);
    });
    for (const step of path.steps) this.addEdge(step, path.is_context, lane, index);
  }

  private addNode(name: string, along: number, lane: number | null, isContext: boolean, path: number): void {
    const node = this.nodes.get(name);
    if (node) addOnce(node.paths, path);
    else this.nodes.set(name, { role: isContext ? "context" : "intermediate", along, lane, paths: [path] });
  }

  /** Facts that differ only in time share one edge. */
  private addEdge(step: Step, isContext: boolean, lane: number | null, path: number): void {
    const edge = this.edges.get(edgeKey(step));
    if (edge) {
      addOnce(edge.paths, path);
      addOnce(edge.times, timeLabel(step));
      return;
    }
    this.edges.set(edgeKey(step), {
      source: step.subject,
      target: step.object,
      relation: step.relation,
      times: [timeLabel(step)],
      kind: isContext ? "context" : "fact",
      lane: this.isDirect(step) ? lane : null,
      paths: [path],
    });
  }

  private isDirect({ subject, object }: Step): boolean {
    return pairKey(subject, object) === pairKey(this.link.entity, this.link.answer);
  }

  build(width: number, measure: MeasureText): GraphLayout {
    const vertical = width < NARROW_WIDTH;
    const centres = this.laneCentres();
    const outermost = centres.at(-1) ?? 0;
    const available = width - NODE_WIDTH - 2 * MARGIN;
    const gap = vertical ? Math.min(LANE_GAP * 1.8, available / Math.max(1, 2 * outermost)) : LANE_GAP;
    const offset = (lane: number | null): number => (lane === null ? 0 : (centres[lane] ?? 0) * gap);
    const steps = this.longestPath();
    const length = vertical ? steps * STEP_GAP : available;
    const nodes = [...this.nodes].map(([name, { role, along, lane, paths }]) => {
      const lines = wrapText(name, NODE_WIDTH - 2 * PADDING, measure);
      const [x, y] = vertical ? [offset(lane), along * length] : [along * length, offset(lane)];
      const height = lines.length * LINE_HEIGHT + 2 * PADDING;
      return { id: name, label: lines.join("\n"), role, x, y, width: NODE_WIDTH, height, paths };
    });
    const labelWidth = vertical ? NODE_WIDTH : Math.max(72, length / steps - NODE_WIDTH - 8);
    const edges = this.buildEdges(offset, vertical, labelWidth, measure);
    const labels = edges.map((edge) => labelBox(edge, nodes, measure));
    return fitToFrame(nodes, edges, labels, width);
  }

  /** Number of steps of the longest path. */
  private longestPath(): number {
    const positions = [...this.nodes.values()].map(({ along }) => along).filter((along) => along > 0);
    return Math.round(1 / Math.min(...positions));
  }

  /** Centre of each lane relative to the centre of all lanes, in lanes. Lanes with parallel edges are wider. */
  private laneCentres(): number[] {
    const widths = Array.from({ length: this.lanes }, (_, lane) => this.laneWidth(lane));
    const total = widths.reduce((sum, width) => sum + width, 0);
    let end = -total / 2;
    return widths.map((width) => (end += width) - width / 2);
  }

  private laneWidth(lane: number): number {
    const names = [...this.nodes].filter(([, node]) => node.lane === lane).map(([name]) => name);
    const edges = [...this.edges.values()].filter(({ source, target }) => names.includes(source) || names.includes(target));
    return 1 + PARALLEL_GAP * (Math.max(1, ...edges.map((edge) => this.parallelEdges(edge).length)) - 1);
  }

  private parallelEdges(edge: EdgeDraft): EdgeDraft[] {
    const pair = pairKey(edge.source, edge.target);
    return [...this.edges.values()].filter(({ source, target }) => pairKey(source, target) === pair);
  }

  /** Edges between the same two nodes are bent apart. */
  private buildEdges(
    offset: (lane: number | null) => number,
    vertical: boolean,
    labelWidth: number,
    measure: MeasureText,
  ): GraphEdge[] {
    return [...this.edges].map(([id, edge]) => {
      const parallel = this.parallelEdges(edge);
      const spread = (parallel.indexOf(edge) - (parallel.length - 1) / 2) * LANE_GAP * PARALLEL_GAP;
      const distance = edge.lane === null ? spread : offset(edge.lane);
      const bend = distance * (this.pointsToAnswer(edge) ? 1 : -1) * (vertical ? -1 : 1);
      const space = edge.lane === null ? labelWidth : vertical ? NODE_WIDTH : NODE_WIDTH * 2;
      const label = [...wrapText(edge.relation, space, measure), ...timeLines(edge.times)].join("\n");
      return { id, source: edge.source, target: edge.target, label, kind: edge.kind, bend, paths: edge.paths };
    });
  }

  private pointsToAnswer({ source, target }: EdgeDraft): boolean {
    return (this.nodes.get(target)?.along ?? 0) >= (this.nodes.get(source)?.along ?? 0);
  }
}

/** Box of an edge label, at the midpoint of the bent edge. */
function labelBox(edge: GraphEdge, nodes: readonly GraphNode[], measure: MeasureText): Box {
  const [from, to] = [positionOf(edge.source, nodes), positionOf(edge.target, nodes)];
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const lines = edge.label.split("\n");
  return {
    x: from.x + dx / 2 - (dy / length) * edge.bend,
    y: from.y + dy / 2 + (dx / length) * edge.bend,
    width: Math.max(...lines.map(measure)),
    height: lines.length * LINE_HEIGHT,
  };
}

function positionOf(id: string, nodes: readonly GraphNode[]): { readonly x: number; readonly y: number } {
  return nodes.find((node) => node.id === id) ?? { x: 0, y: 0 };
}

/** Translates the nodes so that all boxes are inside the frame, centred horizontally. */
function fitToFrame(
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
  labels: readonly Box[],
  width: number,
): GraphLayout {
  const boxes: readonly Box[] = [...nodes, ...labels];
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2));
  const right = Math.max(...boxes.map((box) => box.x + box.width / 2));
  const top = Math.min(...boxes.map((box) => box.y - box.height / 2));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height / 2));
  const x = (width - (left + right)) / 2;
  const y = MARGIN - top;
  const translated = nodes.map((node) => ({ ...node, x: node.x + x, y: node.y + y }));
  return { nodes: translated, edges, width, height: bottom - top + 2 * MARGIN };
}

/** The time of a step; a fact that is later than the query is marked. */
function timeLabel({ time, after_question }: Step): string {
  return after_question ? `${time} (later)` : time;
}

/** At most two label lines; of more than two times, the first and the last. */
function timeLines(times: readonly string[]): string[] {
  const sorted = [...times].sort();
  return sorted.length > 2 ? [`${sorted[0]}`, `… ${sorted.at(-1)}`] : sorted;
}

function addOnce<Item>(list: Item[], item: Item): void {
  if (!list.includes(item)) list.push(item);
}

function pairKey(one: string, other: string): string {
  return [one, other].sort().join("\t");
}

function startOf(step: Step): string {
  return step.forward ? step.subject : step.object;
}

function endOf(step: Step): string {
  return step.forward ? step.object : step.subject;
}

function edgeKey({ subject, relation, object }: Step): string {
  return [subject, relation, object].join("\t");
}
