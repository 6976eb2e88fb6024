// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import type { Json } from '../../../core/json.ts'
import { bodyOf, type RigMacro, type RigStep, rig, session } from './macro-rig.ts'

/** Names from a caller who is not elevated must not reach further than the request itself could. */
async function came(macros: readonly RigMacro[], args: Json, isElevated = false): Promise<Json | undefined> {
  const house = rig(macros)
  house.values.set('note', { value: 'x', isSecure: true })
  house.values.set('mode', { value: 'day', isSecure: false })
  house.values.set('door_pin', { value: '1234', isSecure: false })
  house.values.set('mode@2', { value: 'day', isSecure: false })
  house.live.set('2.level', 5)
  house.live.set('1.settings', { port: 21, password: 'p' })
  house.live.set('1.mode', 'day')
  const outcome = house.runMacro(session({ isElevated }), { macro_id: 1, args })
  await house.clock.run(100)
  return bodyOf(await outcome).error
}

const target = { zone_id: '${args.zone_id}' }
const rows: [string, RigStep, Json, string | undefined][] = [
  ['commands a zone out of scope', { type: 'command', command: 'on', args: target }, { zone_id: 2 }, 'not authorized'],
  ['commands a zone in scope', { type: 'command', command: 'on', args: target }, { zone_id: 1 }, undefined],
  ['commands a zone that the macro names', { type: 'command', command: 'on', args: { zone_id: 2 } }, {}, undefined],
  [
    'reads a field out of scope',
    { type: 'condition', args: { left: { ...target, field: 'level' }, right: 5 } },
    { zone_id: 2 },
    'not authorized',
  ],
  [
    'reads an attribute out of scope',
    { type: 'condition', args: { left: { ...target, attribute: 'mode' }, right: 5 } },
    { zone_id: 2 },
    'not authorized',
  ],
  [
    'reads an attribute with a sensitive name',
    { type: 'condition', args: { left: { attribute: '${args.name}' }, right: '1' } },
    { name: 'door_pin' },
    'not authorized',
  ],
  [
    'waits for an attribute with a sensitive name',
    { type: 'wait', args: { left: 1, op: 'ne', right: { attribute: '${args.name}' }, timeout_ms: 9 } },
    { name: 'door_pin' },
    'not authorized',
  ],
  [
    'reads an attribute flagged secure',
    { type: 'condition', args: { left: { attribute: '${args.name}' }, right: '1' } },
    { name: 'note' },
    'not authorized',
  ],
  [
    'reads a report of a device with a secret inside',
    { type: 'condition', args: { left: { zone_id: 1, field: '${args.name}' }, op: 'contains', right: 'p' } },
    { name: 'settings' },
    'not authorized',
  ],
  [
    'reads it by a target of its own',
    { type: 'condition', args: { left: 'p', op: 'in', right: { ...target, field: 'settings' } } },
    { zone_id: 1 },
    'not authorized',
  ],
  [
    'lets the macro read it',
    { type: 'condition', args: { left: { zone_id: 1, field: 'settings' }, op: 'contains', right: '${args.name}' } },
    { name: 'settings' },
    undefined,
  ],
  [
    'reads a report of a device without secrets',
    { type: 'condition', args: { left: { zone_id: 1, field: '${args.name}' }, right: 'day' } },
    { name: 'mode' },
    undefined,
  ],
  [
    'writes an attribute flagged secure',
    { type: 'set', args: { attribute: '${args.name}', value: 1 } },
    { name: 'note' },
    'not authorized',
  ],
  [
    'writes out of scope',
    { type: 'set', args: { ...target, attribute: 'mode', value: 1 } },
    { zone_id: 2 },
    'not authorized',
  ],
  [
    'writes an attribute that is not secret',
    { type: 'set', args: { attribute: '${args.name}', value: 1 } },
    { name: 'mode' },
    undefined,
  ],
  [
    'lets the macro read a secret of its own',
    { type: 'condition', args: { left: { attribute: 'door_pin' }, right: '${args.pin}' } },
    { pin: '1' },
    undefined,
  ],
  [
    'calls an elevated macro by name',
    { type: 'macro', args: { macro: '${args.which}' } },
    { which: 'Strong' },
    'not authorized',
  ],
  ['lets the macro call an elevated one', { type: 'macro', args: { macro: 'Strong' } }, {}, undefined],
]
for (const [what, step, args, error] of rows)
  t.test(`1 Elevated gates a request ${what}: ${error ?? 'granted'}`, async (t) => {
    const macros = [
      { name: 'Any', steps: [step] },
      { name: 'Strong', elevated: true },
    ]
    t.equal(await came(macros, args), error)
    t.equal(await came(macros, args, true), undefined)
  })

t.test('1 POST /api/control/:action args handed on to a called macro still count as the request’s', async (t) => {
  const inner: RigMacro = { name: 'Inner', steps: [{ type: 'command', command: 'on', args: target }] }
  const outer = (zone_id: Json): RigMacro => ({
    name: 'Outer',
    steps: [{ type: 'macro', args: { macro: 'Inner', args: { zone_id } } }],
  })
  t.equal(await came([outer('${args.z}'), inner], { z: 2 }), 'not authorized')
  t.equal(await came([outer('${args.z}'), inner], { z: 1 }), undefined)
  t.equal(await came([outer(2), inner], {}), undefined, 'the macro named it itself')
})

t.test('1 POST /api/control/:action a default of args_schema is the macro’s own', async (t) => {
  const macro = (): RigMacro => ({
    name: 'Any',
    args_schema: { properties: { zone_id: { type: 'integer', default: 2 } } },
    steps: [{ type: 'command', command: 'on', args: target }],
  })
  t.equal(await came([macro()], {}), undefined)
  t.equal(await came([macro()], { zone_id: 2 }), 'not authorized')
})

t.test('1 Elevated gates the verb is checked with a target that the request named', async (t) => {
  const house = rig([{ name: 'Any', steps: [{ type: 'command', command: 'unlock', args: target }] }])
  house.ports.refusal = (_, { zone_id }, verb) => (zone_id === 1 && verb !== 'unlock' ? undefined : 'scope_denied')
  const outcome = house.runMacro(session(), { macro_id: 1, args: { zone_id: 1 } })
  await house.clock.run(0)
  t.equal(bodyOf(await outcome).error, 'not authorized')
  t.same(house.sent, [])
})

t.test('1 Guards 3, 4 a wait ends if a secret appears in an attribute that the request named', async (t) => {
  const step: RigStep = {
    type: 'wait',
    args: { left: { zone_id: 1, field: '${args.name}' }, op: 'contains', right: 'p', timeout_ms: 1000 },
  }
  const house = rig([{ name: 'Any', steps: [step] }])
  house.live.set('1.later', 'none')
  const outcome = house.runMacro(session(), { macro_id: 1, args: { name: 'later' } })
  await house.clock.run(100)
  house.live.set('1.later', { password: 'p' })
  house.changed()
  await house.clock.run(100)
  t.equal(bodyOf(await outcome).error, 'not authorized')
})
