import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editSteps } from '../support/scripted-model/edit-steps.js';

/** Applies steps as the tools do: an edit needs exactly one place. */
function play(before: string | null, steps: ReturnType<typeof editSteps>): string {
  let text = before ?? '';
  for (const step of steps) {
    if (step.tool === 'write_file') {
      text = String(step.arguments.content);
      continue;
    }
    const old = String(step.arguments.old);
    const at = text.indexOf(old);
    expect(at).toBeGreaterThanOrEqual(0);
    expect(text.indexOf(old, at + 1)).toBe(-1);
    text = text.slice(0, at) + String(step.arguments.new) + text.slice(at + old.length);
  }
  return text;
}

describe('edits of the scripted model', () => {
  it('turn any text into any other, each edit unique when it is made', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', '}', ''), { maxLength: 14 })
      .chain((lines) => fc.constantFrom(lines.join('\n'), `${lines.join('\n')}\n`, lines.join('\r\n')));
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(play(before, editSteps('f.js', before, after))).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  it('edit in place where few lines differ', () => {
    const before = Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join('');
    const steps = editSteps('f.js', before, before.replace('line 7\n', 'line seven\n'));
    expect(steps).toEqual([
      { tool: 'edit_file', arguments: { path: 'f.js', old: 'line 7\n', new: 'line seven\n' } },
    ]);
  });

  it('write a new file whole', () => {
    expect(editSteps('n.js', null, 'x')).toEqual([
      { tool: 'write_file', arguments: { path: 'n.js', content: 'x' } },
    ]);
  });
});
