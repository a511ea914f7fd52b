/** Tables of the core: deliveries, machines, runs, events, effects, timers, money and the model's journal. */
import type { Migration } from './database.js';

/** All times are epoch milliseconds, all money whole micro-dollars, all payloads JSON text. */
export const CORE_MIGRATIONS: readonly Migration[] = [
  {
    id: '001-core',
    sql: `
create table delivery (
  delivery_id text primary key,
  source text not null,
  event text not null,
  action text,
  repository_id text,
  installation_id bigint,
  body text not null,
  body_hash text not null,
  status text not null check (status in ('new', 'applied', 'ignored', 'dead')),
  attempt integer not null default 0,
  due_at bigint not null,
  note text,
  received_at bigint not null
);
create index delivery_due on delivery (status, due_at);
create index delivery_body on delivery (body_hash, received_at);
create index delivery_repository on delivery (status, repository_id);
create table repository (
  repository_id text primary key,
  reference text not null,
  lease_owner text,
  fence bigint not null default 0,
  lease_until bigint not null default 0,
  machine_version integer not null,
  snapshot text not null,
  state text not null,
  rev bigint not null default 0,
  run_id text,
  updated_at bigint not null
);
create table run (
  run_id text primary key,
  repository_id text not null references repository (repository_id),
  trigger_id text not null unique,
  status text not null check (status in ('active', 'done')),
  outcome text,
  record text,
  created_at bigint not null,
  ended_at bigint
);
create unique index run_active on run (repository_id) where status = 'active';
create table run_event (
  repository_id text not null,
  rev bigint not null,
  event_id text not null,
  run_id text,
  type text not null,
  payload text not null,
  state text not null,
  fence bigint not null,
  at bigint not null,
  primary key (repository_id, rev),
  unique (repository_id, event_id)
);
create table waiting_trigger (
  trigger_id text primary key,
  repository_id text not null,
  collapse_key text not null,
  payload text not null,
  requested_at bigint not null
);
create index waiting_trigger_order on waiting_trigger (repository_id, requested_at);
create table effect (
  idem text primary key,
  repository_id text not null,
  run_id text,
  rev bigint not null,
  n integer not null,
  kind text not null,
  lane text not null check (lane in ('work', 'tell')),
  payload text not null,
  payload_hash text not null,
  status text not null check (status in ('pending', 'inflight', 'done', 'failed', 'cancelled')),
  attempt integer not null default 0,
  failures integer not null default 0,
  fence bigint,
  due_at bigint not null,
  result text,
  last_error text,
  created_at bigint not null,
  ended_at bigint
);
create index effect_due on effect (status, due_at);
create index effect_repository on effect (repository_id, lane, status);
create table timer (
  repository_id text not null,
  name text not null,
  rev bigint not null,
  fire_at bigint not null,
  primary key (repository_id, name)
);
create index timer_due on timer (fire_at);
create table decision (
  repository_id text not null,
  run_id text not null,
  rev bigint not null,
  decision text not null,
  decided_by text not null,
  decided_at bigint not null,
  comment_id bigint,
  primary key (repository_id, run_id, rev)
);
create table pull_request (
  repository_id text not null,
  number bigint not null,
  run_id text not null,
  branch text not null,
  commit_sha text not null,
  draft integer not null,
  fate text not null,
  opened_at bigint not null,
  primary key (repository_id, number)
);
create table reservation (
  key text primary key,
  run_id text not null,
  repository_id text not null,
  installation_id bigint,
  micro_usd bigint not null,
  settled integer not null default 0,
  reserved_at bigint not null
);
create index reservation_run on reservation (run_id);
create index reservation_time on reservation (reserved_at);
create table llm_call (
  effect_key text not null,
  turn integer not null,
  attempt integer not null,
  request_hash text not null,
  status text not null check (status in ('started', 'answered')),
  response text,
  prompt_tokens bigint,
  completion_tokens bigint,
  micro_usd bigint,
  started_at bigint not null,
  ended_at bigint,
  primary key (effect_key, turn, attempt)
);
create table draft_patch (
  effect_key text primary key,
  turn integer not null,
  diff text not null
);
create table bucket (
  source text primary key,
  tokens double precision not null,
  updated_at bigint not null
);
`,
  },
  {
    id: '002-effect-crashes',
    sql: 'alter table effect add column crashes integer not null default 0;',
  },
];
