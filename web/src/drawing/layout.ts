/**
 * Layout of the paths of an answer: the entity at one end, the answer at the other, one lane per path in the given order.
 *
 * The rules are those of the drawings of `fitcarl explain` (`reporting/path_svg.py`): the query is an arc above the lanes,
 * an edge has the direction of its fact even if the path traverses the fact inversely, a context path starts at another
 * entity than that of the query, and a note under a lane says what is left without the path.
 *
 * Pure functions: positions in pixels depend only on the names, the width and a function that measures text.
 */

import type { Path, Side, Step } from "../api/types";
import { pathNote } from "../state/explanation";
import { fitToFrame, labelHeight, type Box, type GraphEdge, type GraphLayout, type GraphNode, type GraphNote } from "./frame";
import { wrapText, type MeasureText } from "./wrapText";

/** The predicted link between the entity and the answer. */
export interface PredictedLink {
  readonly entity: string;
  readonly answer: string;
  readonly side: Side;
  readonly relation: string;
  readonly at: string;
}

const LINE_HEIGHT = 16;
const PADDING = 8;
const MARGIN = 8;
const NODE_WIDTH = 122;
/** Width of a node if a path has more than two steps. */
const SMALL_NODE_WIDTH = 100;
/** Smallest distance between two nodes of a horizontal lane, with a label in between. */
const MIN_GAP = 92;
/** Part of the gap between two nodes that a label leaves free, so that the line and its arrow are visible. */
const LABEL_MARGIN = 24;
const MIN_LANE_GAP = 84;
/** Distance between consecutive nodes of a path in the vertical layout. */
const STEP_GAP = 136;
const MAX_VERTICAL_LANE_GAP = 190;
/** Labels of edges that start or end at the entity or the answer are moved from 0.5 to this part of the way to the lane. */
const LABEL_PART = 0.7;
const LABEL_LINES = 3;
/** Size of the font of labels relative to that of nodes, which is measured. */
const LABEL_SCALE = 11 / 12;
const NODE_LINES = 4;
/** A horizontal picture is scaled down to this part at most; if it is still too wide, the layout is vertical. */
const MIN_ZOOM = 0.82;
const ENTITY = "entity";
const ANSWER = "answer";

/** Whether there is no room for lanes from left to right; the paths then go from top to bottom. */
export function isVertical(paths: readonly Path[], width: number): boolean {
  return width < MIN_ZOOM * naturalWidth(longestPath(paths));
}

/** Positions of all nodes, edges and notes. The frame is wider than `width` if the picture has to be scaled down. */
export function layoutPaths(link: PredictedLink, paths: readonly Path[], width: number, measure: MeasureText): GraphLayout {
  const lanes = paths.map(toLane);
  return isVertical(paths, width)
    ? verticalLayout(link, lanes, width, measure)
    : horizontalLayout(link, lanes, Math.max(width, naturalWidth(longestPath(paths))), measure);
}

interface Lane {
  readonly path: Path;
  readonly index: number;
  /** Names of the nodes between the entity and the answer; those of a context path include its start. */
  readonly inner: readonly string[];
}

function toLane(path: Path, index: number): Lane {
  const names = path.steps.slice(0, -1).map(endOf);
  const first = path.steps[0];
  return { path, index, inner: path.kind === "context" && first ? [startOf(first), ...names] : names };
}

/** A single fact between the entity and the answer: it is drawn as an arc in its lane. */
function isDirect({ path, inner }: Lane): boolean {
  return path.steps.length > 0 && inner.length === 0;
}

function horizontalLayout(link: PredictedLink, lanes: readonly Lane[], width: number, measure: MeasureText): GraphLayout {
  const nodeWidth = nodeWidthFor(lanes.map(({ path }) => path));
  const length = width - nodeWidth - 2 * MARGIN;
  const labels = lanes.map((lane) => stepLabels(lane, horizontalLabelWidth(lane, length, nodeWidth), measure));
  const notes = lanes.map((lane) => fittedNote(lane, nodeWidth, measure));
  const inner = lanes.flatMap((lane) => lane.inner.map((name) => nodeBox(name, nodeWidth, measure)));
  const gap = laneGap(labels.flat(), inner, notes);
  const middle = (lanes.length - 1) / 2;
  const across = (lane: number): number => (lane - middle) * gap;

  const nodes = endNodes(link, nodeWidth, measure, [0, 0], [length, 0]);
  const edges: GraphEdge[] = [];
  const noteBoxes: GraphNote[] = [];
  for (const lane of lanes) {
    const y = across(lane.index);
    nodes.push(...innerNodes(lane, nodeWidth, measure, (along) => [along * length, y]));
    edges.push(...laneEdges(lane, labels[lane.index] ?? [], nodes, (from, to, label) => {
      if (isDirect(lane)) return { bend: bendFor(from, to, y, false), labelShift: 0 };
      if (from.y === to.y) return { bend: 0, labelShift: -(labelHeight(label) / 2 + 5) };
      const outer = from.y === 0 ? to.y : from.y;
      return { bend: bendFor(from, to, (LABEL_PART - 0.5) * outer, false), labelShift: 0 };
    }));
    const below = isDirect(lane)
      ? labelHeight(labels[lane.index]?.[0] ?? "") / 2
      : Math.max(0, ...lane.inner.map((name) => nodeBox(name, nodeWidth, measure).height / 2));
    noteBoxes.push(...noteBox(lane, notes[lane.index] ?? "", length / 2, y + below + 2, measure));
  }
  const label = predictedLabel(link, length / 2, measure);
  const top = Math.min(0, across(0)) - topOfLane(lanes[0], labels[0] ?? [], nodeWidth, measure);
  const apex = Math.min(top - labelHeight(label) / 2 - 8, -endHeight(nodes) / 2 - 20);
  edges.unshift(predictedEdge(link, label, nodes, (from, to) => bendFor(from, to, apex, false)));
  return fitToFrame(nodes, edges, noteBoxes, width, MARGIN, measure);
}

function verticalLayout(link: PredictedLink, lanes: readonly Lane[], width: number, measure: MeasureText): GraphLayout {
  const nodeWidth = NODE_WIDTH;
  const available = width - nodeWidth - 2 * MARGIN;
  const gap = Math.min(MAX_VERTICAL_LANE_GAP, available / Math.max(1, lanes.length));
  const across = (lane: number): number => (lane + 1 - lanes.length / 2) * gap;
  const length = Math.max(2, longestPath(lanes.map(({ path }) => path))) * STEP_GAP;

  const nodes = endNodes(link, nodeWidth, measure, [0, 0], [0, length]);
  const edges: GraphEdge[] = [];
  const notes: GraphNote[] = [];
  const bottom = length + (nodes[1]?.height ?? 0) / 2;
  for (const lane of lanes) {
    const x = across(lane.index);
    nodes.push(...innerNodes(lane, nodeWidth, measure, (along) => [x, along * length]));
    edges.push(...laneEdges(lane, stepLabels(lane, nodeWidth, measure), nodes, (from, to) => ({
      bend: isDirect(lane) ? bendFor(from, to, x, true) : 0,
      labelShift: 0,
    })));
    notes.push(...noteBox(lane, pathNote(lane.path), lanes.length > 1 ? x : 0, bottom + 4, measure));
  }
  const label = predictedLabel(link, nodeWidth, measure);
  edges.unshift(predictedEdge(link, label, nodes, (from, to) => bendFor(from, to, across(-1), true)));
  return fitToFrame(nodes, edges, notes, width, MARGIN, measure);
}

/** Distance between two lanes such that no label, node or note overlaps those of the next lane. */
function laneGap(labels: readonly string[], inner: readonly Box[], notes: readonly string[]): number {
  const label = Math.max(0, ...labels.map(labelHeight));
  const half = Math.max(0, ...inner.map(({ height }) => height)) / 2;
  const note = Math.max(0, ...notes.map((text) => (text ? labelHeight(text) : 0)));
  const slanted = (1.5 * label + 10) / LABEL_PART;
  return Math.max(MIN_LANE_GAP, slanted, half + note + 6 + Math.max(label + 6, half));
}

/** How far the nodes and labels of a lane reach above it. */
function topOfLane(lane: Lane | undefined, labels: readonly string[], nodeWidth: number, measure: MeasureText): number {
  if (!lane) return 0;
  const tallest = Math.max(0, ...labels.map(labelHeight));
  const nodes = lane.inner.map((name) => nodeBox(name, nodeWidth, measure).height / 2);
  return Math.max(isDirect(lane) ? tallest / 2 : tallest + 5, ...nodes);
}

function endNodes(
  link: PredictedLink,
  width: number,
  measure: MeasureText,
  start: readonly [number, number],
  end: readonly [number, number],
): GraphNode[] {
  const ends = [
    { id: ENTITY, name: link.entity, role: "entity", at: start },
    { id: ANSWER, name: link.answer, role: "answer", at: end },
  ] as const;
  return ends.map(({ id, name, role, at: [x, y] }) => ({ id, role, ...nodeBox(name, width, measure), x, y, path: null }));
}

function innerNodes(
  { path, index, inner }: Lane,
  width: number,
  measure: MeasureText,
  place: (along: number) => readonly [number, number],
): GraphNode[] {
  return inner.map((name, position) => {
    const [x, y] = place((position + 1) / (inner.length + 1));
    const id = innerId(index, path.kind === "context" ? position : position + 1);
    return { id, role: "intermediate", ...nodeBox(name, width, measure), x, y, path: index };
  });
}

function nodeBox(name: string, width: number, measure: MeasureText): Box & { readonly label: string } {
  const lines = wrapText(name, width - 2 * PADDING, measure, NODE_LINES);
  return { label: lines.join("\n"), x: 0, y: 0, width, height: lines.length * LINE_HEIGHT + 2 * PADDING };
}

function laneEdges(
  lane: Lane,
  labels: readonly string[],
  nodes: readonly GraphNode[],
  curve: (from: Box, to: Box, label: string) => { readonly bend: number; readonly labelShift: number },
): GraphEdge[] {
  const { path, index } = lane;
  return path.steps.map((step, position) => {
    const ends = [stopId(lane, position), stopId(lane, position + 1)];
    const [source, target] = (step.forward ? ends : ends.reverse()) as [string, string];
    const label = labels[position] ?? "";
    return {
      id: `${index}:${position}`,
      source,
      target,
      label,
      kind: path.kind === "path" ? "fact" : "unfollowed",
      later: step.after_question,
      path: index,
      ...curve(boxOf(source, nodes), boxOf(target, nodes), label),
    };
  });
}

function predictedEdge(
  { side }: PredictedLink,
  label: string,
  nodes: readonly GraphNode[],
  bend: (from: Box, to: Box) => number,
): GraphEdge {
  const [source, target] = side === "subject" ? [ENTITY, ANSWER] : [ANSWER, ENTITY];
  const curve = { bend: bend(boxOf(source, nodes), boxOf(target, nodes)), labelShift: 0 };
  return { id: "predicted", source, target, label, kind: "predicted", later: false, path: null, ...curve };
}

/** The note of a lane; it is broken if it would reach the labels beside a node in the middle of the lane. */
function fittedNote({ path, inner }: Lane, nodeWidth: number, measure: MeasureText): string {
  const note = pathNote(path);
  const fits = note.split("\n").every((line) => measure(line) <= nodeWidth + LABEL_MARGIN);
  return inner.length % 2 === 0 || fits ? note : note.replace(": ", ":\n");
}

function noteBox({ index }: Lane, text: string, x: number, top: number, measure: MeasureText): GraphNote[] {
  if (!text) return [];
  const height = labelHeight(text);
  const width = Math.max(...text.split("\n").map(measure));
  return [{ id: `note:${index}`, label: text, x, y: top + height / 2, width, height, path: index }];
}

/** Bend of an edge that moves its midpoint by `shift` pixels to the next lane. */
function bendFor(from: Box, to: Box, shift: number, vertical: boolean): number {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const along = vertical ? from.y - to.y : to.x - from.x;
  return along ? (shift * length) / along : 0;
}

function horizontalLabelWidth(lane: Lane, length: number, nodeWidth: number): number {
  return isDirect(lane) ? length * 0.5 : length / (lane.inner.length + 1) - nodeWidth - LABEL_MARGIN;
}

function stepLabels({ path }: Lane, width: number, measure: MeasureText): string[] {
  return path.steps.map((step) => [...wrapText(step.relation, width / LABEL_SCALE, measure, LABEL_LINES), timeLabel(step)].join("\n"));
}

function predictedLabel({ relation, at }: PredictedLink, width: number, measure: MeasureText): string {
  return [...wrapText(`${relation}?`, width, measure, LABEL_LINES), at].join("\n");
}

/** The time of a step; a fact that is later than the query is marked. */
function timeLabel({ time, after_question }: Step): string {
  return after_question ? `${time} (later)` : time;
}

/** Node at the given position of a path: 0 is its start. */
function stopId({ path, index }: Lane, position: number): string {
  if (position === path.steps.length) return ANSWER;
  return position === 0 && path.kind !== "context" ? ENTITY : innerId(index, position);
}

function innerId(path: number, position: number): string {
  return `${path}:${position}`;
}

function boxOf(id: string, nodes: readonly GraphNode[]): Box {
  return nodes.find((node) => node.id === id) ?? { x: 0, y: 0, width: 0, height: 0 };
}

function endHeight(nodes: readonly GraphNode[]): number {
  return Math.max(...nodes.filter(({ path }) => path === null).map(({ height }) => height));
}

function longestPath(paths: readonly Path[]): number {
  return Math.max(2, ...paths.map(({ steps }) => steps.length));
}

function nodeWidthFor(paths: readonly Path[]): number {
  return longestPath(paths) > 2 ? SMALL_NODE_WIDTH : NODE_WIDTH;
}

/** Width of a horizontal picture whose longest path has this number of steps. */
function naturalWidth(steps: number): number {
  const node = steps > 2 ? SMALL_NODE_WIDTH : NODE_WIDTH;
  return (steps + 1) * node + steps * MIN_GAP + 2 * MARGIN;
}

function startOf(step: Step): string {
  return step.forward ? step.subject : step.object;
}

function endOf(step: Step): string {
  return step.forward ? step.object : step.subject;
}
