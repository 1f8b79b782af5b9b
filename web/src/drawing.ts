/**
 * Where the nodes and edges of an answer's paths go: the actor at one end, the answer at the other, a lane for each path.
 *
 * Pure: positions in pixels come from names, a width, and a function that measures text. Edges run in the real direction
 * of their facts, whichever way the path takes them.
 */

import type { Path, Side, Step } from "./contract";

export type Role = "actor" | "answer" | "via" | "other";
export type Kind = "fact" | "asked" | "crowd";

/** Around its middle. */
interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Node extends Box {
  readonly id: string;
  readonly label: string;
  readonly role: Role;
  readonly paths: readonly number[];
}

export interface Edge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly label: string;
  readonly kind: Kind;
  /** How far the middle of the edge stands from the straight line, to the right of its direction, in pixels. */
  readonly bend: number;
  /** Places of the paths that go along it; none for the question itself. */
  readonly paths: readonly number[];
}

export interface Drawing {
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
  readonly width: number;
  readonly height: number;
}

export interface Asked {
  readonly actor: string;
  readonly answer: string;
  readonly side: Side;
  readonly relation: string;
  readonly at: string;
}

export type Measure = (text: string) => number;

const BOX = 122;
const LINE = 16;
const PADDING = 8;
/** From lane to lane, where paths run to the right. */
const LANE = 106;
/** From stop to stop, where they run downwards. */
const STOREY = 136;
const MARGIN = 8;
/** Room that a further edge between the same two nodes takes, in lanes. */
const BESIDE = 0.7;
/** Below this width paths run downwards. */
export const NARROW = 500;

export function drawing(asked: Asked, paths: readonly Path[], width: number, measure: Measure): Drawing {
  const plan = new Plan(asked);
  const placed = paths.map((path, place) => ({ path, place }));
  const [examples, ways] = [placed.filter(({ path }) => path.is_context), placed.filter(({ path }) => !path.is_context)];
  for (const { path, place } of [...ways, ...examples]) plan.add(path, place);
  return plan.laidOut(width, measure);
}

/** Lines of at most so many pixels; words that are longer are broken. */
export function wrapped(text: string, width: number, measure: Measure): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).flatMap((long) => broken(long, width, measure))) {
    const longer = line ? `${line} ${word}` : word;
    if (line && measure(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return line ? [...lines, line] : lines;
}

function broken(word: string, width: number, measure: Measure): string[] {
  const parts: string[] = [];
  let part = "";
  for (const letter of word) {
    if (part && measure(part + letter) > width) {
      parts.push(part);
      part = "";
    }
    part += letter;
  }
  return part ? [...parts, part] : parts;
}

interface Spot {
  readonly role: Role;
  /** 0 at the actor, 1 at the answer. */
  readonly along: number;
  /** The lane it stands in; null for the line between actor and answer. */
  readonly lane: number | null;
  readonly paths: number[];
}

interface Line {
  readonly source: string;
  readonly target: string;
  readonly relation: string;
  readonly times: string[];
  readonly kind: Kind;
  /** The lane of an edge that goes straight from actor to answer. */
  readonly lane: number | null;
  readonly paths: number[];
}

/** What is to be drawn, collected path by path. */
class Plan {
  private readonly spots = new Map<string, Spot>();
  private readonly lines = new Map<string, Line>();
  private lanes = 0;

  constructor(private readonly asked: Asked) {
    const { actor, answer, side, relation, at } = asked;
    this.spots.set(actor, { role: "actor", along: 0, lane: null, paths: [] });
    this.spots.set(answer, { role: "answer", along: 1, lane: null, paths: [] });
    const [source, target] = side === "subject" ? [actor, answer] : [answer, actor];
    const lane = this.lanes++;
    this.lines.set("asked", { source, target, relation: `${relation}?`, times: [at], kind: "asked", lane, paths: [] });
  }

  add(path: Path, place: number): void {
    const first = path.steps[0];
    if (!first) return;
    const stops = [start(first), ...path.steps.map(end)];
    const fresh = stops.some((name) => !this.spots.has(name));
    const direct = path.steps.some((step) => this.isDirect(step) && !this.lines.has(key(step)));
    const lane = fresh || direct ? this.lanes++ : null;
    // What others did begins half-way: it has nothing to do with the actor's own place.
    const begin = path.is_context ? 0.5 : 0;
    stops.forEach((name, stop) => {
      this.visit(name, begin + (stop / path.steps.length) * (1 - begin), lane, path.is_context, place);
    });
    for (const step of path.steps) this.goAlong(step, path.is_context, lane, place);
  }

  private visit(name: string, along: number, lane: number | null, isContext: boolean, place: number): void {
    const spot = this.spots.get(name);
    if (spot) note(spot.paths, place);
    else this.spots.set(name, { role: isContext ? "other" : "via", along, lane, paths: [place] });
  }

  /** The same deed between the same two on several days is one edge with several dates. */
  private goAlong(step: Step, isContext: boolean, lane: number | null, place: number): void {
    const { subject, relation, object, time } = step;
    const known = this.lines.get(key(step));
    if (known) {
      note(known.paths, place);
      note(known.times, time);
      return;
    }
    const own = this.isDirect(step) ? lane : null;
    const kind = isContext ? "crowd" : "fact";
    this.lines.set(key(step), { source: subject, target: object, relation, times: [time], kind, lane: own, paths: [place] });
  }

  private isDirect({ subject, object }: Step): boolean {
    return pairOf(subject, object) === pairOf(this.asked.actor, this.asked.answer);
  }

  laidOut(width: number, measure: Measure): Drawing {
    const down = width < NARROW;
    const middles = this.middles();
    const reach = middles.at(-1) ?? 0;
    const gap = down ? Math.min(LANE * 1.8, (width - BOX - 2 * MARGIN) / Math.max(1, 2 * reach)) : LANE;
    const across = (lane: number | null): number => (lane === null ? 0 : (middles[lane] ?? 0) * gap);
    const stops = this.stops();
    const long = down ? stops * STOREY : width - BOX - 2 * MARGIN;
    const nodes = [...this.spots].map(([name, spot]) => {
      const lines = wrapped(name, BOX - 2 * PADDING, measure);
      const [x, y] = down ? [across(spot.lane), spot.along * long] : [spot.along * long, across(spot.lane)];
      const height = lines.length * LINE + 2 * PADDING;
      return { id: name, label: lines.join("\n"), role: spot.role, x, y, width: BOX, height, paths: spot.paths };
    });
    const free = down ? BOX : Math.max(72, long / stops - BOX - 8);
    const edges = this.edges(across, down, free, measure);
    const labels = edges.map((edge) => labelBox(edge, nodes, measure));
    return framed(nodes, edges, labels, width);
  }

  /** How many steps the longest path has. */
  private stops(): number {
    const parts = [...this.spots.values()].map(({ along }) => along).filter((along) => along > 0);
    return Math.round(1 / Math.min(...parts));
  }

  /** The middle of each lane, in lanes from the middle of all; lanes with edges side by side are broader. */
  private middles(): number[] {
    const breadths = Array.from({ length: this.lanes }, (_, lane) => this.breadth(lane));
    const total = breadths.reduce((sum, breadth) => sum + breadth, 0);
    let edge = -total / 2;
    return breadths.map((breadth) => (edge += breadth) - breadth / 2);
  }

  private breadth(lane: number): number {
    const here = [...this.spots].filter(([, spot]) => spot.lane === lane).map(([name]) => name);
    const lines = [...this.lines.values()].filter(({ source, target }) => here.includes(source) || here.includes(target));
    return 1 + BESIDE * (Math.max(1, ...lines.map((line) => this.beside(line).length)) - 1);
  }

  private beside(line: Line): Line[] {
    const pair = pairOf(line.source, line.target);
    return [...this.lines.values()].filter(({ source, target }) => pairOf(source, target) === pair);
  }

  /** Edges between the same two nodes are spread, so that none hides another. */
  private edges(across: (lane: number | null) => number, down: boolean, free: number, measure: Measure): Edge[] {
    return [...this.lines].map(([id, line]) => {
      const group = this.beside(line);
      const spread = (group.indexOf(line) - (group.length - 1) / 2) * LANE * BESIDE;
      const offset = line.lane === null ? spread : across(line.lane);
      const bend = offset * (this.runsForward(line) ? 1 : -1) * (down ? -1 : 1);
      const room = line.lane === null ? free : down ? BOX : BOX * 2;
      const label = [...wrapped(line.relation, room, measure), ...dated(line.times)].join("\n");
      return { id, source: line.source, target: line.target, label, kind: line.kind, bend, paths: line.paths };
    });
  }

  private runsForward({ source, target }: Line): boolean {
    return (this.spots.get(target)?.along ?? 0) >= (this.spots.get(source)?.along ?? 0);
  }
}

/** Where the label of an edge stands: in its middle, which a bend moves to the right of the edge's direction. */
function labelBox(edge: Edge, nodes: readonly Node[], measure: Measure): Box {
  const [from, to] = [placeOf(edge.source, nodes), placeOf(edge.target, nodes)];
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const lines = edge.label.split("\n");
  return {
    x: from.x + dx / 2 - (dy / length) * edge.bend,
    y: from.y + dy / 2 + (dx / length) * edge.bend,
    width: Math.max(...lines.map(measure)),
    height: lines.length * LINE,
  };
}

function placeOf(id: string, nodes: readonly Node[]): { readonly x: number; readonly y: number } {
  return nodes.find((node) => node.id === id) ?? { x: 0, y: 0 };
}

/** Moved so that everything is inside. */
function framed(nodes: readonly Node[], edges: readonly Edge[], labels: readonly Box[], width: number): Drawing {
  const boxes: readonly Box[] = [...nodes, ...labels];
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2));
  const right = Math.max(...boxes.map((box) => box.x + box.width / 2));
  const top = Math.min(...boxes.map((box) => box.y - box.height / 2));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height / 2));
  const x = (width - (left + right)) / 2;
  const y = MARGIN - top;
  const moved = nodes.map((node) => ({ ...node, x: node.x + x, y: node.y + y }));
  return { nodes: moved, edges, width, height: bottom - top + 2 * MARGIN };
}

function dated(times: readonly string[]): string[] {
  const shown = [...times].sort();
  return shown.length > 2 ? [`${shown[0]}`, `… ${shown.at(-1)}`] : shown;
}

function note<Item>(list: Item[], item: Item): void {
  if (!list.includes(item)) list.push(item);
}

function pairOf(one: string, other: string): string {
  return [one, other].sort().join("\t");
}

function start(step: Step): string {
  return step.forward ? step.subject : step.object;
}

function end(step: Step): string {
  return step.forward ? step.object : step.subject;
}

function key({ subject, relation, object }: Step): string {
  return [subject, relation, object].join("\t");
}
