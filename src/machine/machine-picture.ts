/** Draws the statechart as Markdown: a Mermaid diagram and the full table of state × event, from the definition itself. */
import { repositoryMachine } from './repository-machine.js';

type MachineNode = (typeof repositoryMachine.root.states)[string];

interface Edge {
  readonly from: string;
  readonly event: string;
  readonly guard: string;
  readonly to: string;
  readonly actions: readonly string[];
}

/** Markdown of `docs/machine.md`. */
export function drawMachine(): string {
  const nodes = Object.values(repositoryMachine.root.states);
  const edges = nodes.flatMap((node) => edgesOf(node));
  return [
    '# The machine of one repository',
    '',
    'Drawn from `src/machine/repository-machine.ts` by `npm run picture`; do not edit by hand.',
    '',
    '```mermaid',
    'stateDiagram-v2',
    '  [*] --> listening',
    ...topLevelArrows(edges),
    '```',
    '',
    '## Every transition',
    '',
    '| state | event | if | next state | actions |',
    '|---|---|---|---|---|',
    ...edges.map(
      (edge) => `| ${edge.from} | ${edge.event} | ${edge.guard} | ${edge.to} | ${edge.actions.join(', ')} |`,
    ),
    '',
    '## On entry',
    '',
    '| state | actions |',
    '|---|---|',
    ...allNodes(nodes)
      .filter((node) => node.entry.length > 0)
      .map((node) => `| ${pathOf(node)} | ${node.entry.map(nameOf).join(', ')} |`),
    '',
    '## Every state × event',
    '',
    ...coverage(nodes, edges),
    '',
    'A dot means: the event changes nothing in that state (it is stored with the run and ignored). `ACKNOWLEDGED` is taken in any state and only keeps the issue number.',
    '',
  ].join('\n');
}

function allNodes(nodes: readonly MachineNode[]): readonly MachineNode[] {
  return nodes.flatMap((node) => [node, ...allNodes(Object.values(node.states))]);
}

function pathOf(node: MachineNode): string {
  return node.path.join('.');
}

function edgesOf(node: MachineNode): readonly Edge[] {
  const own = [...node.transitions.values()].flat().map((transition) => ({
    from: pathOf(node),
    event: transition.eventType,
    guard: guardName(transition.guard),
    to: transition.target?.map((target) => pathOf(target)).join(', ') ?? pathOf(node),
    actions: transition.actions.map(nameOf),
  }));
  const always = (node.always ?? []).map((transition) => ({
    from: pathOf(node),
    event: '(at once)',
    guard: guardName(transition.guard),
    to: transition.target?.map((target) => pathOf(target)).join(', ') ?? pathOf(node),
    actions: transition.actions.map(nameOf),
  }));
  return [...own, ...always, ...Object.values(node.states).flatMap((child) => edgesOf(child))];
}

function nameOf(action: unknown): string {
  if (typeof action === 'string') return action;
  if (typeof action !== 'object' || action === null || !('type' in action)) return 'unnamed';
  const params =
    'params' in action && typeof action.params === 'object' ? Object.values(action.params ?? {}) : [];
  return params.length === 0 ? String(action.type) : `${String(action.type)}(${params.join(', ')})`;
}

function guardName(guard: unknown): string {
  if (guard === undefined) return '';
  if (typeof guard === 'function' && 'guards' in guard && Array.isArray(guard.guards)) {
    return guard.guards.map(guardName).join(' and ');
  }
  return nameOf(guard);
}

function topLevelArrows(edges: readonly Edge[]): readonly string[] {
  const labels = new Map<string, Set<string>>();
  for (const edge of edges) {
    const from = edge.from.split('.')[0];
    const to = edge.to.split('.')[0];
    if (from === to && edge.event === '(at once)') continue;
    if (from === to && edge.event !== 'STATION_FAILED') continue;
    const key = `${from} --> ${to}`;
    const label = edge.event === '(at once)' ? edge.guard : edge.event;
    labels.set(key, (labels.get(key) ?? new Set()).add(label));
  }
  return [...labels].map(([arrow, names]) => `  ${arrow}: ${[...names].filter(Boolean).join(', ')}`);
}

function coverage(nodes: readonly MachineNode[], edges: readonly Edge[]): readonly string[] {
  const events = [...new Set(edges.map((edge) => edge.event))].filter((event) => event !== '(at once)');
  const cell = (state: string, event: string): string => {
    const targets = edges
      .filter((edge) => edge.from.split('.')[0] === state && edge.event === event)
      .map((edge) => edge.to.split('.')[0] ?? '');
    return targets.length === 0 ? '·' : [...new Set(targets)].join(' or ');
  };
  const states = nodes.map((node) => pathOf(node));
  return [
    `| event | ${states.join(' | ')} |`,
    `|---|${states.map(() => '---').join('|')}|`,
    ...events.map((event) => `| ${event} | ${states.map((state) => cell(state, event)).join(' | ')} |`),
  ];
}
