// Compares webhooks with GitHub's published examples: what every example of an event and action has must be there.
import { webhookExamples } from '../emulated-github/installation-webhook.js';
import { asArray, isObject, type Json, type JsonObject } from '../emulated-github/json.js';

// Maps whose keys are data, not shape.
const MAPS = ['installation.permissions'];

/**
 * Paths such as `issue.user.login` that every published example of this event and action has and the payload
 * lacks; all examples of the event count where none of this action is published. Throws without any example.
 */
export function missingFields(event: string, payload: JsonObject): string[] {
  const all = webhookExamples(event);
  const sameAction = all.filter((example) => example.action === payload.action);
  const examples = sameAction.length > 0 ? sameAction : all;
  if (examples.length === 0) throw new Error(`GitHub publishes no example of ${event}`);
  return [...new Set(missing(examples, payload, ''))].sort();
}

function missing(examples: readonly JsonObject[], value: JsonObject, path: string): string[] {
  const [first] = examples;
  const found: string[] = [];
  for (const key of Object.keys(first ?? {})) {
    if (!examples.every((example) => key in example)) continue;
    const here = path === '' ? key : `${path}.${key}`;
    if (!(key in value)) found.push(here);
    else if (!MAPS.includes(here))
      found.push(
        ...missingInside(
          examples.map((example) => example[key]),
          value[key],
          here,
        ),
      );
  }
  return found;
}

// An example that shows null, or a list that is empty, says nothing about what is inside.
function missingInside(
  examples: readonly (Json | undefined)[],
  value: Json | undefined,
  path: string,
): string[] {
  if (isObject(value)) {
    const shown = examples.filter(isObject);
    return shown.length === examples.length ? missing(shown, value, path) : [];
  }
  const entries = asArray(value).filter(isObject);
  const shown = examples.flatMap((example) => asArray(example)).filter(isObject);
  return shown.length === 0 ? [] : entries.flatMap((entry) => missing(shown, entry, `${path}[]`));
}
