/** Macros that no installer would write, for properties that hold for every macro. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import fc from 'fast-check'
import { anyText } from '#kit/test/any-text.ts'
import type { Json } from '../../../core/json.ts'
import type { RigMacro, RigStep } from './macro-rig.ts'

/** Some values come from args, including secret ones. */
const value = fc.constantFrom<Json>(
  '${args.word}',
  1,
  'on',
  null,
  '${args.n}',
  '${args.text}',
  '${args.password}',
  'is ${args.pin}',
  {
    key: '${args.n}',
  },
)
const ms = fc.constantFrom<Json>(0, 1, 7, 40, 300, '${args.n}', '${args.pin}')
const side = fc.oneof(
  fc.constantFrom<Json>(
    { attribute: 'mode' },
    { attribute: 'door_pin' },
    { attribute: '${args.name}' },
    { attribute: 'none' },
  ),
  fc.constantFrom<Json>({ zone_id: 1, field: 'level' }, { zone_id: 1, field: 'blob' }, { zone_id: 9, field: 'level' }),
  fc.constantFrom<Json>(5, 'day', '${args.n}', '${args.pin}', null),
)
/** A test that depends only on a secret. */
const secretTest = fc.record({
  left: fc.constantFrom<Json>('${args.pin}', '${args.password}'),
  op: fc.constantFrom('eq', 'ne'),
  right: fc.constantFrom<Json>('other', 11),
})
const anyTest = fc.record({ left: side, op: fc.constantFrom('eq', 'ne', 'lt', 'contains'), right: side })
const test = fc.oneof(secretTest, anyTest)
const otherwise = fc.constantFrom<Json>('stop', { skip: 1 }, { skip: '${args.n}' })

function withErrors(step: fc.Arbitrary<RigStep>): fc.Arbitrary<RigStep> {
  const onError = fc.constantFrom('stop', 'continue', 'continue', 'retry')
  return fc.tuple(step, onError, fc.nat(3)).map(([one, on_error, retries]) => ({ ...one, on_error, retries }))
}

const steps = fc.letrec<{ step: RigStep }>((tie) => ({
  step: withErrors(
    fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.record({ a: value }).map((args) => ({ type: 'command', zone_id: 1, command: 'on', args })),
      fc.tuple(ms, ms).map(([first, spread]) => ({ type: 'delay', args: { ms: first, spread_ms: spread } })),
      fc.tuple(test, otherwise).map(([args, skip]) => ({ type: 'condition', args: { ...args, else: skip } })),
      fc.tuple(test, ms).map(([args, timeout_ms]) => ({ type: 'wait', args: { ...args, timeout_ms } })),
      // A secret that is written to a public place is no longer one.
      fc
        .constantFrom('day', 'night', '${args.n}')
        .map((set) => ({ type: 'set', args: { attribute: 'mode', value: set } })),
      fc
        .tuple(fc.constantFrom('door_pin', 'none'), value)
        .map(([attribute, set]) => ({ type: 'set', args: { attribute, value: set } })),
      fc
        .tuple(
          fc.constantFrom<Json>(2, 1, '${args.n}'),
          fc.constantFrom('${args.text}', '${args.pin}', 'x ${args.word}'),
        )
        .map(([macro_id, text]) => ({ type: 'macro', args: { macro_id, args: { text } } })),
      fc.constant<RigStep>({ type: 'notify', args: { text: 'say ${args.text}' } }),
      fc.boolean().map((failed) => ({ type: 'stop', args: { failed, reason: '${args.password}' } })),
      fc
        .array(fc.oneof(tie('step'), fc.array(tie('step'), { minLength: 1, maxLength: 3 })), {
          minLength: 1,
          maxLength: 3,
        })
        .map((branches) => ({ type: 'parallel', args: { steps: branches as Json } })),
    ),
  ),
})).step

/** The caller of the second macro passes it a secret under an innocent name. */
const toSecond: RigStep = {
  type: 'macro',
  args: { macro_id: 2, args: { text: '${args.plain}' } },
  on_error: 'continue',
}
const setPin = (value: string): RigStep => ({
  type: 'set',
  args: { attribute: 'door_pin', value },
  on_error: 'continue',
})

/** One macro that may call the others and itself, and two that it may call. */
export const randomMacros: fc.Arbitrary<RigMacro[]> = fc
  .record({
    first: fc.array(steps, { maxLength: 7 }),
    second: fc.array(steps, { maxLength: 3 }),
    mode: fc.constantFrom('single', 'restart', 'queued', 'parallel'),
    timeout_ms: fc.constantFrom(30, 1000, 60_000),
  })
  .map(({ first, second, mode, timeout_ms }) => [
    { name: 'First', mode: 'parallel', timeout_ms, steps: [...first, toSecond, setPin('${args.word}')] },
    { name: 'Second', mode, steps: [...second, setPin('${args.text}')] },
    { name: 'Third', mode: 'single', steps: [{ type: 'delay', args: { ms: 25 } }] },
  ])

/** The args; secrets have unique texts, so that they can be searched for. */
export const SECRET = 'geheim'
export const randomArgs: fc.Arbitrary<Record<string, Json>> = fc.record({
  n: fc.constantFrom<Json>(0, 2, 3, 50, 'x'),
  text: anyText({ maxLength: 5 }),
  name: fc.constantFrom('mode', 'door_pin', 'none'),
  password: fc.constant(SECRET),
  word: fc.constant(SECRET),
  plain: fc.constant(SECRET),
  pin: fc.constantFrom<Json>(SECRET, 11),
})
