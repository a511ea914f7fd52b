/** What is wrong with the settings, collected so that one start shows all of it; secrets stay hidden. */
import { UserError } from '../domain/errors.js';

const SECRETS: ReadonlySet<string> = new Set([
  'PRIVATE_KEY',
  'WEBHOOK_SECRET',
  'OPENAI_API_KEY',
  'HASTEN_ALERT_SOURCES',
]);
const MAX_SHOWN_CHARS = 80;

export class SettingProblems {
  private readonly lines: string[] = [];
  constructor(private readonly set: Readonly<Record<string, string>>) {}

  get found(): boolean {
    return this.lines.length > 0;
  }

  /** `inner` are the keys inside of a JSON value, from the outside in. */
  add(key: string, allowed: string, inner: readonly string[] = []): void {
    const name = [key, ...inner].join('.');
    this.lines.push(`${name}: ${this.shown(key)}; allowed: ${allowed}`);
  }

  error(): UserError {
    const message = `The settings of the service cannot be used:\n${this.lines.map((line) => `- ${line}`).join('\n')}`;
    return new UserError({ code: 'SETTINGS_INVALID', message });
  }

  private shown(key: string): string {
    const value = this.set[key];
    if (value === undefined) return 'is not set';
    if (SECRETS.has(key)) return `(hidden, ${value.length} characters)`;
    return JSON.stringify(value.length > MAX_SHOWN_CHARS ? `${value.slice(0, MAX_SHOWN_CHARS)}…` : value);
  }
}
