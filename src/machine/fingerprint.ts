/** Hashes for the loop rule: equal plans and equal errors must look equal, whatever paths, numbers and times they carry. */
import { createHash } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import type { Plan } from '../domain/plan.js';

/** sha256 hex of a plan without case, white space and punctuation; of nothing when there was no plan. */
export function planHash(plan: Plan | null): string {
  const words =
    plan === null ? '' : [plan.hypothesis, ...plan.files, ...plan.steps].map(normaliseWords).join('|');
  return createHash('sha256').update(words).digest('hex');
}

/** An error in words without paths, addresses, numbers, times and quotes, at most 400 characters. */
export function errorSignature(step: string, message: string): string {
  const normalised = stripVTControlCharacters(message)
    .replace(/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?Z?\b/g, '<time>')
    .replace(/\b0x[0-9a-f]+\b/gi, '<address>')
    .replace(/\b[0-9a-f]{7,64}\b/gi, '<hash>')
    .replace(/(?:[\w.@-]*\/)+[\w.@-]+/g, '<path>')
    .replace(/\d+(?:\.\d+)?/g, '<n>')
    .replace(/["'`]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase();
  return `${step}: ${normalised}`.slice(0, 400);
}

function normaliseWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
