// Typed access to JSON of unknown shape; every part of the rig that reads a body goes through these functions.

/** A JSON value. */
export type Json = string | number | boolean | null | Json[] | JsonObject;

/** A JSON object; a missing key reads as undefined. */
export interface JsonObject {
  [key: string]: Json | undefined;
}

/** Parses JSON text; undefined when the text is empty or not JSON. */
export function parseJson(text: string): Json | undefined {
  if (text === '') return undefined;
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** True for a JSON object (not an array, not null). */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object, or an empty object when it is none. */
export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The value as an array, or an empty array when it is none. */
export function asArray(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The objects inside an array value; other entries are left out. */
export function asObjects(value: Json | undefined): JsonObject[] {
  return asArray(value).filter(isObject);
}

/** The value at a path of keys, or undefined where the path ends early. */
export function at(value: Json | undefined, ...keys: string[]): Json | undefined {
  let current = value;
  for (const key of keys) current = isObject(current) ? current[key] : undefined;
  return current;
}

/** The string at a path of keys, or an empty string. */
export function textAt(value: Json | undefined, ...keys: string[]): string {
  const found = at(value, ...keys);
  return typeof found === 'string' ? found : '';
}

/** The number at a path of keys, or NaN. */
export function numberAt(value: Json | undefined, ...keys: string[]): number {
  const found = at(value, ...keys);
  return typeof found === 'number' ? found : Number.NaN;
}
