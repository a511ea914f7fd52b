/** The model's journal: each call is a row before it is made and holds the raw answer before anything reads it. */
import type { JournaledTurn, ModelJournal } from '../domain/money.js';
import type { Database } from './database.js';

const MICRO = 1_000_000;

interface TurnRow {
  readonly turn: number;
  readonly request_hash: string;
  readonly response: string;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly micro_usd: number;
}

export class SqlModelJournal implements ModelJournal {
  constructor(private readonly database: Database) {}

  async turns(effectKey: string): Promise<readonly JournaledTurn[]> {
    const rows = await this.database.tx((tx) =>
      tx.all<TurnRow>(
        `select turn, request_hash, response, prompt_tokens, completion_tokens, micro_usd
         from llm_call where effect_key = ? and status = 'answered' order by turn, attempt`,
        [effectKey],
      ),
    );
    return rows.map((row) => ({
      effectKey,
      turn: row.turn,
      requestHash: row.request_hash,
      response: row.response,
      promptTokens: row.prompt_tokens,
      completionTokens: row.completion_tokens,
      usd: row.micro_usd / MICRO,
    }));
  }

  async startedAttempts(effectKey: string, turn: number): Promise<number> {
    const row = await this.database.tx((tx) =>
      tx.get<{ attempts: number }>(
        'select count(*) as attempts from llm_call where effect_key = ? and turn = ?',
        [effectKey, turn],
      ),
    );
    return row?.attempts ?? 0;
  }

  async start(
    effectKey: string,
    turn: number,
    attempt: number,
    requestHash: string,
    at: number,
  ): Promise<void> {
    await this.database.tx((tx) =>
      tx.run(
        `insert into llm_call (effect_key, turn, attempt, request_hash, status, started_at)
         values (?, ?, ?, ?, 'started', ?)`,
        [effectKey, turn, attempt, requestHash, at],
      ),
    );
  }

  async withdraw(effectKey: string, turn: number, attempt: number): Promise<void> {
    await this.database.tx((tx) =>
      tx.run(
        "delete from llm_call where effect_key = ? and turn = ? and attempt = ? and status = 'started'",
        [effectKey, turn, attempt],
      ),
    );
  }

  async finish(turn: JournaledTurn, attempt: number, at: number): Promise<void> {
    await this.database.tx((tx) =>
      tx.run(
        `update llm_call set status = 'answered', response = ?, prompt_tokens = ?, completion_tokens = ?,
           micro_usd = ?, ended_at = ? where effect_key = ? and turn = ? and attempt = ?`,
        [
          turn.response,
          turn.promptTokens,
          turn.completionTokens,
          Math.ceil(turn.usd * MICRO - 1e-6),
          at,
          turn.effectKey,
          turn.turn,
          attempt,
        ],
      ),
    );
  }

  async saveDraft(effectKey: string, turn: number, diff: string): Promise<void> {
    await this.database.tx((tx) =>
      tx.run(
        `insert into draft_patch (effect_key, turn, diff) values (?, ?, ?)
         on conflict (effect_key) do update set turn = excluded.turn, diff = excluded.diff`,
        [effectKey, turn, diff],
      ),
    );
  }

  async lastDraft(effectKey: string): Promise<{ turn: number; diff: string } | null> {
    const row = await this.database.tx((tx) =>
      tx.get<{ turn: number; diff: string }>('select turn, diff from draft_patch where effect_key = ?', [
        effectKey,
      ]),
    );
    return row ?? null;
  }
}
