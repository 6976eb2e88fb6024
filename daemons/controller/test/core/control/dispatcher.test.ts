import fc from 'fast-check'
import t from 'tap'
import { holdsLater } from '#kit/test/holds.ts'
import type { Caller } from '../../../core/control/gates.ts'
import type { Target } from '../../../core/control/reading.ts'
import { BUILDING, stage } from './stage.ts'

function targetOf({ dispatcher }: ReturnType<typeof stage>, named: Record<string, unknown>): Target {
  const resolved = dispatcher.resolve(named)
  if (!('target' in resolved)) throw new Error(resolved.sentence)
  return resolved.target
}

t.test('1 POST control internal callers pass every gate, and their args stay', async (t) => {
  const on = stage()
  await on.dispatcher.dispatch(targetOf(on, { zone_id: 4 }), 'open', { zone_id: 9 })
  t.strictSame(on.reached, ['12 zone 4 open {"zone_id":9}'])
})

t.test('1 POST control a target from the args of a macro is checked like a command', async (t) => {
  const on = stage()
  const caller: Caller = { session: on.session({ uis: [1], may: ['macro'] }), by: 'macro' }
  t.equal(on.dispatcher.checkTarget(caller, targetOf(on, { zone: 'Hall' }), 'on'), undefined)
  t.equal(on.dispatcher.checkTarget(caller, targetOf(on, { zone_id: 2 })), 'scope_denied')
  t.equal(on.dispatcher.checkTarget(caller, targetOf(on, { device_id: 12 })), 'elevation_denied')
})

t.test('1 POST control an override inside a macro is checked for the user that runs it', async (t) => {
  const zone = BUILDING.zone.map((each) => ({ ...each, overrides: each.id === 1 ? { on: { zone_id: 2 } } : null }))
  const on = stage({ zone })
  const caller: Caller = { session: on.session({ uis: [1], may: ['macro'] }), by: 'macro' }
  const target = targetOf(on, { zone_id: 1 })
  await t.rejects(on.dispatcher.dispatch(target, 'on', {}, caller), {
    code: 'not_authorized',
    details: { reason: 'scope_denied', target: 'zone 2' },
  })
  await on.dispatcher.dispatch(target, 'on', {})
  t.strictSame(on.reached, ['10 zone 2 on {}'], 'without a caller it is followed')
})

t.test('1 POST control whatever the body, no driver is reached beyond the scope', async (t) => {
  const id = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(1, 3, 10, 11) },
    {
      weight: 1,
      arbitrary: fc.oneof(fc.integer({ min: -1, max: 20 }), fc.constantFrom(null, '1', 1.5, [1], {}, true)),
    },
  )
  const names = [...BUILDING.zone, ...BUILDING.device].map((row) => row.name)
  const name = fc.oneof(fc.constantFrom('Hall', 'Window', 'Dimmer'), fc.constantFrom(...names, 1, null))
  const targets = { zone_id: id, zone: name, device_id: id, device: name }
  const args = fc.record({ ...targets, level: fc.integer() }, { requiredKeys: [] })
  // Half of the commands fit as far as they go, so that enough of them are granted.
  const fitting = fc.record({ args: fc.record({ level: fc.nat(100) }), command: fc.constant('level') })
  const wild = fc.record({ args, command: fc.constantFrom('on', 'level', '__proto__', 5) }, { requiredKeys: [] })
  const rest = fc.oneof(fitting, wild)
  const verbs = fc.record({ level: fc.integer({ min: 0, max: 200 }), on: fc.boolean() }, { requiredKeys: [] })
  const one = fc
    .constantFrom(...Object.keys(targets))
    .chain((key) => fc.record({ [key]: key.endsWith('_id') ? id : name }))
  const what = fc.oneof(
    rest,
    verbs,
    fc.tuple(rest, verbs).map((both) => Object.assign({}, ...both)),
  )
  const body = fc.tuple(one, fc.option(one), what).map((parts) => Object.assign({}, ...parts))
  let granted = 0
  const law = fc.asyncProperty(body, async (each) => {
    const { command, session, reached } = stage()
    const { status, reason } = await command(session({ uis: [1] }), each)
    if (status === 200) granted++
    const isWithin = reached.every((line) => /^(10 (zone 1|whole)|11 (zone 3|whole)) /.test(line))
    const isClean = reached.every((line) => !/"(zone|device|device_id)":/.test(line))
    return isWithin && isClean && (reached.length === 1) === (status === 200) && (status === 200) === (reason === null)
  })
  await holdsLater(t, law, { numRuns: 600 })
  t.ok(granted > 10, `${granted} were granted, so that the property is really tested`)
})
