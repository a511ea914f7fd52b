/** Cheats that show in the form of the code: imports of machinery, code out of text, work that nobody waits for. */
import type { NodePath } from '@babel/traverse';
import type { Occurrence } from './cheat-finding.js';
import { constantText, propertyName } from './constant-text.js';
import { builtinModule, chainsOf } from './global-chain.js';
import { type ProgramPath, walk } from './source-tree.js';

/** Modules of Node that only compute. Every other one reads the machine, moves work or reaches into the process. */
const HARMLESS_MODULES = new Set([
  ...['path', 'path/posix', 'path/win32', 'util', 'util/types', 'url', 'buffer', 'events', 'string_decoder'],
  ...['assert', 'assert/strict', 'querystring', 'crypto', 'zlib', 'stream', 'stream/promises', 'punycode'],
  ...['stream/web', 'process', 'timers', 'perf_hooks'],
]);

/** Re-exported, their names could be used elsewhere without being seen. */
const GIVE_GLOBALS = /^(?:node:)?(?:process|timers|perf_hooks)$/;

/** In the order of the source. */
export function syntaxOccurrences(program: ProgramPath): readonly Occurrence[] {
  const found: Occurrence[] = [];
  const add = (path: NodePath, occurrence: Omit<Occurrence, 'node'>): void => {
    found.push({ ...occurrence, node: path.node });
  };
  const load = (path: NodePath, source: string | null): void => {
    const occurrence = loaded(source);
    if (occurrence !== null) add(path, occurrence);
  };
  walk(program, {
    ImportDeclaration: (path) => {
      if (path.node.importKind !== 'type') load(path, path.node.source.value);
    },
    'ExportAllDeclaration|ExportNamedDeclaration': (path: NodePath) => {
      const source =
        'source' in path.node && path.node.source != null ? (path.get('source') as NodePath) : null;
      if (source === null) return;
      const name = constantText(source);
      load(path, name !== null && GIVE_GLOBALS.test(name) ? 'node:globals' : name);
    },
    'ClassDeclaration|ClassExpression': (path: NodePath) => {
      const parent = path.get('superClass') as NodePath;
      if (!parent.node || !(isNamed(parent, 'Date') || isNamed(parent, 'Function'))) return;
      const reason = 'A class made of a clock or of code out of text hides their use.';
      add(parent, { rule: 'hidden-name', key: 'hidden-name:superclass', reason });
    },
    TSExternalModuleReference: (path) => load(path, path.node.expression.value),
    'CallExpression|OptionalCallExpression|NewExpression': (path: NodePath) => {
      const [first] = path.get('arguments') as NodePath[];
      const callee = path.get('callee') as NodePath;
      if (first === undefined) return;
      const text = constantText(first);
      if (callee.isImport() || isRequire(callee)) {
        if (text !== null || callee.isImport()) load(path, text);
      }
    },
    ImportExpression: (path) => load(path, constantText(path.get('source'))),
    WithStatement: (path) => {
      add(path, {
        rule: 'hidden-name',
        key: 'with',
        reason: 'A with statement hides which names are read.',
      });
    },
    ExpressionStatement: (path) => {
      if (isFloating(path.get('expression'))) add(path, FLOATING);
    },
    'MemberExpression|OptionalMemberExpression': (path: NodePath) => {
      const name = propertyName(path);
      if (name === 'getCallSites' || name === 'getCallSite' || name === 'caller' || name === 'callee') {
        if (chainsOf(path).length > 0) return;
        const reason = `.${name} looks at who calls; the same input must be the same work for every caller.`;
        add(path, { rule: 'call-stack', key: `call-stack:${name}`, reason });
      }
    },
    CatchClause: (path) => {
      const caught = path.get('param') as NodePath;
      if (!caught.isObjectPattern()) return;
      for (const property of caught.get('properties')) {
        if (property.isObjectProperty() && propertyName(property) !== 'stack') continue;
        const reason = 'The stack of an error tells who calls; the same input must be the same work.';
        add(property, { rule: 'call-stack', key: 'call-stack:<error>.stack', reason });
      }
    },
  });
  return found;
}

const FLOATING: Omit<Occurrence, 'node'> = {
  rule: 'moved-work',
  key: 'moved-work:floating',
  reason: 'Work that is started and not waited for is not measured; do it inside the call.',
};

function isRequire(callee: NodePath): boolean {
  return chainsOf(callee).some((chain) => chain.join('.') === 'require');
}

function loaded(source: string | null): Omit<Occurrence, 'node'> | null {
  if (source === null) {
    const reason = 'import() of a name that cannot be checked; write the name out.';
    return { rule: 'hidden-name', key: 'hidden-name:import', reason };
  }
  if (/^(?:data|blob|https?|file):/i.test(source)) {
    const reason = 'A module out of a data or web address cannot be checked.';
    return { rule: 'dynamic-code', key: `dynamic-code:${source}`, reason };
  }
  const name = builtinModule(source);
  if (name === null || HARMLESS_MODULES.has(name)) return null;
  const reason = `The module ${name} reads the machine, moves work elsewhere or steers the process.`;
  return { rule: 'moved-work', key: `moved-work:module:${name}`, once: true, reason };
}

/** A promise that is made, hung work on, and dropped: `Promise.resolve().then(work);` or `(async () => …)();`. */
function isFloating(path: NodePath): boolean {
  let call = path.isUnaryExpression({ operator: 'void' }) ? path.get('argument') : path;
  while (call.isCallExpression()) {
    const callee = call.get('callee') as NodePath;
    if (callee.isFunction()) return callee.node.async === true;
    if (callee.isIdentifier()) return isAsyncHere(callee);
    if (!callee.isMemberExpression()) return false;
    const object = callee.get('object');
    if (/^(?:then|catch|finally)$/.test(propertyName(callee) ?? '') && isMadePromise(object)) return true;
    call = object;
  }
  return false;
}

function isMadePromise(path: NodePath): boolean {
  if (path.isNewExpression()) return isNamed(path.get('callee'), 'Promise');
  if (path.isIdentifier()) {
    const init = initOf(path);
    return init !== null && isMadePromise(init);
  }
  if (!path.isCallExpression()) return false;
  const callee = path.get('callee') as NodePath;
  if (callee.isFunction()) return callee.node.async === true;
  return chainsOf(callee).some((chain) => chain[0] === 'Promise');
}

/** A call of the file's own async function. */
function isAsyncHere(name: NodePath & { node: { name: string } }): boolean {
  const declared = name.scope.getBinding(name.node.name)?.path;
  const owner = declared?.isVariableDeclarator() ? initOf(name) : declared;
  return owner?.isFunction() === true && owner.node.async === true;
}

function initOf(name: NodePath & { node: { name: string } }): NodePath | null {
  const declared = name.scope.getBinding(name.node.name)?.path;
  if (declared?.isVariableDeclarator() !== true || declared.node.init == null) return null;
  return declared.get('init') as NodePath;
}

function isNamed(path: NodePath, name: string): boolean {
  return chainsOf(path).some((chain) => chain.join('.') === name);
}
