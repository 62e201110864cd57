// The graph of an assistant, with the path that a turn took.

import dagre from "@dagrejs/dagre";
import { useMemo } from "react";
import type { Graph } from "../api/schema";
import { nodeWords } from "../chat/progress";
import type { Step } from "../chat/turn";
import { useNumbers, useWords } from "../words";

const START = "__start__";
const END = "__end__";
const [WIDTH, HEIGHT, ROUND] = [172, 44, 18];

type GraphViewProps = {
  graph: Graph;
  steps: readonly Step[];
  over: boolean;
  chosen?: string;
  onChoose: (node: string) => void;
};

type Point = { readonly x: number; readonly y: number };

export function GraphView({ graph, steps, over, chosen, onChoose }: GraphViewProps) {
  const words = useWords();
  const numbers = useNumbers();
  const plan = useMemo(() => layout(graph), [graph]);
  const visited = new Map(steps.map((step) => [step.node, step]));
  const taken = path(steps, over);
  const at = over ? undefined : steps.findLast((step) => step.state === "running")?.node;
  return (
    <section className="graph" aria-label={words.trace.graph}>
      <svg viewBox={`0 0 ${plan.width} ${plan.height}`} style={{ maxWidth: plan.width }}>
        <title>{words.trace.graph}</title>
        <defs>
          {["", "taken"].map((kind) => (
            <marker
              key={kind}
              id={`head-${kind}`}
              className={`head ${kind}`}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto-start-reverse"
            >
              <path d="M0 0 8 4 0 8z" />
            </marker>
          ))}
        </defs>
        {plan.edges.map(({ source, target, conditional, points }) => {
          const is = taken.has(`${source} ${target}`);
          return (
            <path
              key={`${source} ${target}`}
              className={`edge ${is ? "taken" : ""} ${conditional ? "conditional" : ""}`}
              d={curve(points)}
              markerEnd={`url(#head-${is ? "taken" : ""})`}
            />
          );
        })}
        {plan.nodes.map(({ id, x, y }) => {
          if (id === START || id === END) {
            return <circle key={id} className="end" cx={x} cy={y} r={ROUND / 2} />;
          }
          const step = visited.get(id);
          const state = id === at ? "at" : step ? "visited" : "";
          const time = step?.milliseconds !== undefined ? numbers.time(step.milliseconds) : undefined;
          const name = nodeWords(words, id);
          return (
            // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
            <g
              key={id}
              className={`node ${state} ${id === chosen ? "chosen" : ""}`}
              transform={`translate(${x - WIDTH / 2} ${y - HEIGHT / 2})`}
              role="button"
              tabIndex={step ? 0 : -1}
              aria-disabled={!step}
              aria-current={id === at ? "step" : undefined}
              onClick={() => step && onChoose(id)}
              onKeyDown={(event) => {
                if (step && (event.key === "Enter" || event.key === " ")) {
                  event.preventDefault();
                  onChoose(id);
                }
              }}
            >
              <rect width={WIDTH} height={HEIGHT} rx="9" />
              <text x={WIDTH / 2} y={time ? 19 : 27}>
                {name}
              </text>
              {time && (
                <text className="time" x={WIDTH / 2} y="34">
                  {time}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </section>
  );
}

/** The edges that were taken, from the start through each step and, when the turn is over, to the end. */
function path(steps: readonly Step[], over: boolean): ReadonlySet<string> {
  const nodes = [START, ...steps.map((step) => step.node), ...(over ? [END] : [])];
  return new Set(nodes.slice(1).map((node, index) => `${nodes[index]} ${node}`));
}

function layout(graph: Graph) {
  const plan = new dagre.graphlib.Graph();
  plan.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 34, marginx: 14, marginy: 14 });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const { id } of graph.nodes) {
    const end = id === START || id === END;
    plan.setNode(id, { width: end ? ROUND : WIDTH, height: end ? ROUND : HEIGHT });
  }
  for (const { source, target } of graph.edges) plan.setEdge(source, target);
  dagre.layout(plan);
  const { width = 0, height = 0 } = plan.graph();
  return {
    width,
    height,
    nodes: graph.nodes.map(({ id }) => ({ id, ...(plan.node(id) as Point) })),
    edges: graph.edges.map((edge) => ({
      ...edge,
      points: (plan.edge(edge.source, edge.target) as { points: readonly Point[] }).points,
    })),
  };
}

/** A line through points with rounded corners. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const parts = rest.map((point, index) => {
    const next = rest[index + 1];
    if (!next) return `L${point.x} ${point.y}`;
    return `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  });
  return `M${first.x} ${first.y}${parts.join("")}`;
}
