/** What devices of zigbee2mqtt expose, as fields of zones. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { type Exposed, messageFor, readExposes, valuesIn } from '../../../../core/drivers/mqtt/exposes.ts'
import { settingOf } from '../../../../core/drivers/zone-values.ts'
import type { Json } from '../../../../core/json.ts'

const binary = (name: string, on: Json, off: Json, more = {}) =>
  ({ type: 'binary', name, property: name, access: 7, value_on: on, value_off: off, ...more }) as Json
const numeric = (name: string, more = {}) => ({ type: 'numeric', name, property: name, access: 7, ...more }) as Json
const choice = (name: string, values: Json, more = {}) =>
  ({ type: 'enum', name, property: name, access: 7, values, ...more }) as Json

function exposedOf(exposes: Json, address = 'x'): Exposed {
  const name = address.split('#')[0] ?? ''
  return readExposes([{ friendly_name: name, definition: { exposes } }], new Set([address])).get(address) as Exposed
}

const sent = (exposed: Exposed, verb: string, args: Record<string, Json> = {}) =>
  messageFor(settingOf({ verb, args }), verb, exposed)

const COVER = exposedOf([
  {
    type: 'cover',
    features: [choice('state', ['OPEN', 'CLOSE', 'STOP']), numeric('position', { value_min: 0, value_max: 100 })],
  },
])
const LOCK = exposedOf([{ type: 'lock', features: [binary('state', 'LOCK', 'UNLOCK')] }])
const VALVE = exposedOf([
  {
    type: 'climate',
    features: [
      numeric('occupied_heating_setpoint', { value_min: 5, value_max: 30 }),
      numeric('local_temperature', { access: 1 }),
      choice('system_mode', ['off', 'heat', 'auto']),
    ],
  },
])

const messages: [string, Exposed, string, Record<string, Json>, Json][] = [
  ['a cover opens', COVER, 'open', {}, { state: 'OPEN' }],
  ['a cover stops', COVER, 'stop', {}, { state: 'STOP' }],
  ['a cover has a position', COVER, 'position', { position: 30 }, { position: 30 }],
  ['a lock locks', LOCK, 'lock', {}, { state: 'LOCK' }],
  ['a lock unlocks', LOCK, 'unlock', {}, { state: 'UNLOCK' }],
  ['a valve has a setpoint', VALVE, 'setpoint', { setpoint: '21.5' }, { occupied_heating_setpoint: 21.5 }],
  ['a valve has a mode', VALVE, 'mode', { mode: 'heat' }, { system_mode: 'heat' }],
]
for (const [title, exposed, verb, args, message] of messages)
  t.test(title, async (t) => {
    t.strictSame(sent(exposed, verb, args), message)
  })

t.test('a cover that knows no position opens and closes, and says so', async (t) => {
  const exposed = exposedOf([{ type: 'cover', features: [choice('state', ['OPEN', 'CLOSE', 'STOP'])] }])
  t.strictSame(sent(exposed, 'close'), { state: 'CLOSE' })
  t.strictSame(valuesIn({ state: 'CLOSE' }, exposed), [['position', 0]])
})

t.test('values that a device does not take are refused with those that it does', async (t) => {
  t.throws(() => sent(VALVE, 'setpoint', { setpoint: 31 }), { code: 'driver_value', message: /from 5 to 30/ })
  t.throws(() => sent(VALVE, 'mode', { mode: 'party' }), { message: 'mode has to be one of off, heat, auto' })
  t.throws(() => sent(VALVE, 'temperature', { temperature: 3 }), { message: /cannot be set: it takes setpoint, mode/ })
  t.throws(() => sent(LOCK, 'level', { level: 3 }), { message: /it takes locked/ })
})

t.test('an address with an endpoint stands for that part of a device alone', async (t) => {
  const part = (endpoint: string) => ({
    type: 'switch',
    endpoint,
    features: [binary('state', 'ON', 'OFF', { property: `state_${endpoint}`, endpoint })],
  })
  const exposes: Json = [part('l1'), part('l2')]
  t.strictSame(sent(exposedOf(exposes, 'x#l2'), 'on'), { state_l2: 'ON' })
  t.strictSame(valuesIn({ state_l1: 'ON', state_l2: 'OFF' }, exposedOf(exposes, 'x#l1')), [['on', true]])
  t.equal(exposedOf(exposes).size, 0)
})

t.test('a value that is not as it was exposed is left out', async (t) => {
  t.strictSame(valuesIn({ occupied_heating_setpoint: '21', local_temperature: 19.5, system_mode: 'party' }, VALVE), [
    ['temperature', 19.5],
  ])
  t.strictSame(valuesIn({ state: { a: 1 } }, LOCK), [])
  t.strictSame(valuesIn([1], LOCK), [])
})

t.test('whatever a bridge says, what it exposes is read or left out', async (t) => {
  const any = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>
  const word = fc.constantFrom(
    'light',
    'cover',
    'lock',
    'binary',
    'numeric',
    'enum',
    'text',
    'state',
    'brightness',
    '__proto__',
  )
  const feature = fc.record({
    type: fc.oneof(word, any),
    name: fc.oneof(word, any),
    property: fc.oneof(word, any),
    access: any,
    values: any,
    value_max: any,
  })
  const expose = fc.oneof(
    any,
    fc.record({ type: fc.oneof(word, any), features: fc.oneof(any, fc.array(feature)) }),
    feature,
  )
  const law = fc.property(fc.array(expose), any, (exposes, message) => {
    const exposed = exposedOf(exposes as Json)
    valuesIn(message, exposed)
    for (const verb of ['on', 'level', 'open']) {
      try {
        sent(exposed, verb, { level: 3 })
      } catch (error) {
        if ((error as { code?: string }).code !== 'driver_value') return false
      }
    }
    return true
  })
  holds(t, law)
})
