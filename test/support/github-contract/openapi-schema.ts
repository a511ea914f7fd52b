// Turns the OpenAPI 3.0 dialect of GitHub's description into JSON Schema that ajv compiles.
import { asArray, isObject, type Json, type JsonObject } from '../emulated-github/json.js';

/** Identifier under which the description's components are registered with ajv. */
export const COMPONENTS_ID = 'https://hasten.test/github-components';

/**
 * Rewrites `nullable` (OpenAPI 3.0) to a null type and points component references at `COMPONENTS_ID`.
 * Takes any part of the description, returns a copy.
 */
export function toJsonSchema(value: Json): Json {
  if (Array.isArray(value)) return value.map(toJsonSchema);
  if (!isObject(value)) return value;
  const schema: JsonObject = {};
  for (const [key, entry] of Object.entries(value)) {
    if (entry === undefined || key === 'nullable') continue;
    schema[key] = key === '$ref' ? `${COMPONENTS_ID}${String(entry)}` : toJsonSchema(entry);
  }
  return value.nullable === true ? orNull(schema) : schema;
}

function orNull(schema: JsonObject): JsonObject {
  const type = schema.type;
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const widened: JsonObject = { ...schema, type: [type, 'null'] };
  if (Array.isArray(schema.enum)) widened.enum = [...asArray(schema.enum), null];
  return widened;
}
