/** The floors of docs/architecture.md as rules: imports go down only, each vendor package stays in its folder. */
/**
 * @param {string} name
 * @param {string} from
 * @param {string} forbidden
 * @param {string} comment
 * @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const floor = (name, from, forbidden, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: forbidden },
});
/**
 * @param {string} name
 * @param {readonly string[]} folders
 * @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const vendor = (name, folders) => ({
  name: `${name.replace(/\W+/g, '-')}-stays-home`,
  comment: `The package ${name} may be imported in ${folders.join(', ')} only.`,
  severity: 'error',
  from: { path: '^src/', pathNot: folders.map((folder) => `^src/${folder}/`) },
  to: { path: `node_modules/${name}(/|$)` },
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    floor(
      'domain-imports-nothing',
      '^src/domain/',
      '^src/(?!domain/)',
      'Words and rules know nothing above them.',
    ),
    {
      name: 'domain-without-packages',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer'] },
    },
    floor(
      'floor-1',
      '^src/(machine|store|config)/',
      '^src/(main|cli|compare/|ingress/|engine/|planner/|sandbox/|evaluator/|publisher/|ledger/)',
      'Floor 1 imports domain only.',
    ),
    floor('floor-1-apart-machine', '^src/machine/', '^src/(store|config)/', 'The machine is pure.'),
    floor(
      'floor-1-apart-store',
      '^src/store/',
      '^src/(machine|config)/',
      'The store knows no settings and no machine.',
    ),
    floor(
      'floor-1-apart-config',
      '^src/config/',
      '^src/(machine|store)/',
      'Settings know no store and no machine.',
    ),
    floor(
      'floor-2-below-3',
      '^src/(planner|sandbox|evaluator|publisher|ledger)/',
      '^src/(main|cli|compare/|ingress/|engine/|machine/)',
      'Stations know neither engine nor ingress.',
    ),
    ...['planner', 'sandbox', 'evaluator', 'publisher', 'ledger'].map((station) =>
      floor(
        `${station}-alone`,
        `^src/${station}/`,
        `^src/(?!${station}/)(planner|sandbox|evaluator|publisher|ledger)/`,
        'A station uses another only through a port.',
      ),
    ),
    floor(
      'floor-3',
      '^src/(ingress|engine)/',
      '^src/(main|cli|compare/|planner/|sandbox/|evaluator/|publisher/|ledger/)',
      'Stations only through ports.',
    ),
    floor(
      'ingress-engine-apart-1',
      '^src/ingress/',
      '^src/engine/',
      'Ingress never reaches into the engine.',
    ),
    floor(
      'ingress-engine-apart-2',
      '^src/engine/',
      '^src/ingress/',
      'The engine never reaches into ingress.',
    ),
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    vendor('probot', ['ingress']),
    vendor('dockerode', ['sandbox']),
    vendor('openai', ['planner']),
    vendor('better-sqlite3', ['store']),
    vendor('xstate', ['machine']),
    vendor('@babel', ['evaluator']),
    vendor('@octokit', ['publisher', 'ingress']),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types'] },
  },
};
