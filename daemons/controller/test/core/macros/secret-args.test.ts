// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import type { Json } from '../../../core/json.ts'
import { secretArgsIn } from '../../../core/macros/showing.ts'
import type { Row } from '../../../core/site/book.ts'
import { type RigMacro, rig, rigSecrets } from './macro-rig.ts'

function secretOf(macros: readonly RigMacro[]): string[] {
  const { book, limits } = rig(macros)
  return [...secretArgsIn(book.plan(book.find({ id: 1 }) as Row), { book, secrets: rigSecrets, limits })].sort()
}

const call = (macro: Json, args: Json) => ({ type: 'macro', args: { macro, args } })
const rows: [string, RigMacro['steps'], string[]][] = [
  [
    'under a sensitive key of a command',
    [{ type: 'command', zone_id: 1, command: 'login', args: { deep: [{ password: '${args.a}' }] } }],
    ['a'],
  ],
  [
    'in the value that a secret attribute is set to',
    [{ type: 'set', args: { attribute: 'door_pin', value: 'x${args.a}' } }],
    ['a'],
  ],
  [
    'in the value that any attribute is set to',
    [{ type: 'set', args: { attribute: '${args.n}', value: '${args.a}' } }],
    ['a'],
  ],
  [
    'in the value that an attribute flagged secure is set to',
    [{ type: 'set', args: { attribute: 'note', value: '${args.a}' } }],
    ['a'],
  ],
  [
    'beside a secret attribute',
    [{ type: 'condition', args: { left: { attribute: 'door_pin' }, right: '${args.a}' } }],
    ['a'],
  ],
  [
    'beside one in the short form',
    [{ type: 'wait', args: { attribute: 'door_pin', value: '${args.a}', timeout_ms: '${args.n}' } }],
    ['a'],
  ],
  [
    'in a branch',
    [{ type: 'parallel', args: { steps: [[{ type: 'set', args: { attribute: 'door_pin', value: '${args.a}' } }]] } }],
    ['a'],
  ],
  ['in a macro that is called', [call('Inner', { x: '${args.a}', y: '${args.b}' })], ['a']],
  ['in one that is called by one', [call('Outer', { z: '${args.a}', y: '${args.b}' })], ['a']],
  [
    'in a branch of macros',
    [{ type: 'parallel', args: { macros: [{ macro: 'Inner', args: { x: '${args.a}' } }] } }],
    ['a'],
  ],
  ['in a macro that is not known yet', [call('${args.which}', { y: '${args.b}' })], ['b']],
  ['in a macro that is not there', [call('Gone', { y: '${args.b}' })], ['b']],
  [
    'nowhere that is secret',
    [{ type: 'set', args: { attribute: 'mode', value: '${args.a}' } }, call('Inner', { y: '${args.b}' })],
    [],
  ],
]
for (const [where, steps = [], names] of rows)
  t.test(`which args are secret: one that stands ${where}`, async (t) => {
    const inner = { name: 'Inner', steps: [{ type: 'set', args: { attribute: 'door_pin', value: '${args.x}' } }] }
    const outer = { name: 'Outer', steps: [call('Inner', { x: '${args.z}' }), call('Any', { y: '${args.y}' })] }
    t.same(secretOf([{ name: 'Any', steps }, inner, outer]), names)
  })

t.test('macros that call each other many times are searched quickly', async (t) => {
  const many = (macro: string) => Array.from({ length: 200 }, () => call(macro, { x: '${args.x}' }))
  const macros = Array.from({ length: 9 }, (_, at) => ({ name: `m${at}`, steps: many(`m${(at + 1) % 9}`) }))
  const before = process.cpuUsage()
  t.same(secretOf(macros), [])
  t.ok(process.cpuUsage(before).user < 1_000_000)
})
