/** An alert in words: inert data in a list, bounded, with nothing that Markdown or a reader's eye could take for more. */
import type { Alert } from './alert-payload.js';

const MAX_TITLE_CHARS = 160;
const MAX_VALUE_CHARS = 500;
const MAX_ENTRIES = 40;

/** One line: what the alert is about, by its summary or its name. */
export function alertTitle(alert: Alert): string {
  const name = oneLine(alert.labels.alertname ?? '', MAX_TITLE_CHARS);
  const summary = oneLine(alert.annotations.summary ?? '', MAX_TITLE_CHARS);
  if (name === '' && summary === '') return 'Alert without a name';
  return summary === '' ? `Alert ${name}` : summary;
}

/** Labels and annotations as a Markdown list of code spans. */
export function alertBody(alert: Alert): string {
  return [
    `An alert has been firing since ${alert.startsAt}.`,
    '',
    'Labels:',
    ...entries(alert.labels),
    '',
    'Annotations:',
    ...entries(alert.annotations),
  ].join('\n');
}

function entries(values: Readonly<Record<string, string>>): string[] {
  const pairs = Object.entries(values).sort(([left], [right]) => (left < right ? -1 : 1));
  if (pairs.length === 0) return ['- none'];
  const lines = pairs
    .slice(0, MAX_ENTRIES)
    .map(([name, value]) => `- ${codeSpan(name, 100)}: ${codeSpan(value, MAX_VALUE_CHARS)}`);
  return pairs.length > MAX_ENTRIES ? [...lines, `- and ${pairs.length - MAX_ENTRIES} more`] : lines;
}

function codeSpan(text: string, maxChars: number): string {
  const plain = oneLine(text, maxChars).replaceAll('`', "'");
  return plain === '' ? '(empty)' : `\`${plain}\``;
}

/** Without line breaks, control and direction characters, and without what could pass for a hidden marker. */
function oneLine(text: string, maxChars: number): string {
  const plain = text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll('<!--', '<! --')
    .replaceAll('-->', '-- >')
    .trim();
  const characters = [...plain];
  return characters.length > maxChars ? `${characters.slice(0, maxChars - 1).join('')}…` : plain;
}
