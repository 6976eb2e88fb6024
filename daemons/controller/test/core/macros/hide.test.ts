// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import type { Json } from '../../../core/json.ts'
import { hideArgs, hideStep, secretArgsOf } from '../../../core/macros/showing.ts'
import { rigSecrets } from './macro-rig.ts'

const rows: [string, string, Json, Json][] = [
  ['a sensitive key', 'command', { deep: [{ password: 'x' }], a: 1 }, { deep: [{ password: null }], a: 1 }],
  [
    'the value that a secret attribute is set to',
    'set',
    { attribute: 'door_pin', value: 'x' },
    { attribute: 'door_pin', value: null },
  ],
  [
    'the value that any attribute is set to',
    'set',
    { attribute: '${args.a}', value: 1 },
    { attribute: '${args.a}', value: null },
  ],
  ['nothing of a plain attribute', 'set', { attribute: 'mode', value: 1 }, { attribute: 'mode', value: 1 }],
  [
    'the value that a secret is compared with',
    'condition',
    { left: { attribute: 'door_pin' }, right: 'x' },
    { left: { attribute: 'door_pin' }, right: null },
  ],
  [
    'the same the other way round',
    'wait',
    { left: 'x', right: { attribute: 'door_pin' } },
    { left: null, right: { attribute: 'door_pin' } },
  ],
  ['the same in short', 'wait', { attribute: 'door_pin', value: 'x' }, { attribute: 'door_pin', value: null }],
  [
    'the value that a secret field is compared with',
    'wait',
    { zone_id: 1, field: 'pin', value: 'x' },
    { zone_id: 1, field: 'pin', value: null },
  ],
  [
    'the value that a secret arg is compared with',
    'condition',
    { left: '${args.pin}', right: 'x' },
    { left: null, right: null },
  ],
  [
    'the same if its name is not sensitive',
    'condition',
    { left: '${args.word}', right: 'x' },
    { left: null, right: null },
  ],
  ['nothing of a plain test', 'condition', { left: '${args.a}', right: 'x' }, { left: '${args.a}', right: 'x' }],
  [
    'values in branches',
    'parallel',
    { steps: [[{ type: 'set', args: { attribute: 'door_pin', value: 'x' } }], { type: 'stop' }] },
    { steps: [[{ type: 'set', args: { attribute: 'door_pin', value: null } }], { type: 'stop' }] },
  ],
]
for (const [what, type, args, hidden] of rows)
  t.test(`a trace hides ${what}`, async (t) => {
    t.same(hideStep({ type, args }, rigSecrets, new Set(['word'])), { type, args: hidden })
  })

t.test('args that were replaced with null are found, however deep', async (t) => {
  const raw = { a: ['${args.x}', { b: 'is ${args.y}' }], c: '${args.z}' }
  t.same([...secretArgsOf(raw, { a: [null, { b: null }], c: '${args.z}' })].sort(), ['x', 'y'])
})

t.test('args are hidden by their names, by what is known of them, and inside values', async (t) => {
  const args = new Map<string, Json>([
    ['pin', 1],
    ['word', 2],
    ['blob', { token: 3, a: 4 }],
    ['a', 5],
  ])
  t.same(
    [...hideArgs(args, new Set(['word']), rigSecrets)],
    [
      ['pin', null],
      ['word', null],
      ['blob', { token: null, a: 4 }],
      ['a', 5],
    ],
  )
})
