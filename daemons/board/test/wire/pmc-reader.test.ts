/** Tests of wire/linuxptp.ts. */
import fc from 'fast-check'
import t from 'tap'
import { anyText } from '#kit/test/any-text.ts'
import { createPmcReader } from '../../wire/linuxptp.ts'
import { SLAVE } from './pmc-text.ts'

const ANSWERS = [
  {
    kind: 'time_status',
    offsetNs: -533n,
    ingressNs: 1_795_307_324_798_724_586n,
    isGrandmasterElsewhere: true,
    grandmaster: '5A-95-37-FF-FE-1E-80-F7',
  },
  { kind: 'current', stepsRemoved: 1, pathDelayNs: 3157 },
  { kind: 'parent', grandmaster: '5A-95-37-FF-FE-1E-80-F7', priority1: 100, priority2: 128, clockClass: 248 },
  { kind: 'default', clock: '7E-EC-02-FF-FE-32-33-F2', priority1: 128, domain: 0 },
  { kind: 'port', state: 'UNCALIBRATED' },
  { kind: 'time_properties', isPtpTimescale: false },
  { kind: 'grandmaster_settings', utcOffsetS: 37 },
]

t.test('reads each message of a slave as pmc 3.1.1 prints it', async (t) => {
  t.same(createPmcReader().push(SLAVE), ANSWERS)
})

t.test('reads it the same however it is cut', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: SLAVE.length }), { maxLength: 20 }), (cuts) => {
      const places = [0, ...cuts.sort((one, other) => one - other), SLAVE.length]
      const reader = createPmcReader()
      const answers = places.slice(1).flatMap((to, index) => reader.push(SLAVE.slice(places[index], to)))
      t.same(answers, ANSWERS)
    }),
    { numRuns: 50 },
  )
})

t.test('gives an answer as soon as its last field is there, and not before', async (t) => {
  const reader = createPmcReader()
  const end = SLAVE.indexOf('sending: GET CURRENT')
  t.same(reader.push(SLAVE.slice(0, end - 1)), [])
  t.equal(reader.push(SLAVE.slice(end - 1, end)).length, 1)
})

t.test('skips a message that lacks a field, and reads the next', async (t) => {
  const cut = SLAVE.replace(/\t\tgrandmasterPriority1.*\n/, '').replace(/\t\tportState.*\n/, '')
  t.same(
    createPmcReader().push(cut),
    ANSWERS.filter(({ kind }) => kind !== 'parent' && kind !== 'port'),
  )
})

t.test('keeps every nanosecond of an offset to a clock with another epoch', async (t) => {
  const far = SLAVE.replace('-533', '1795307324798724587')
  t.match(createPmcReader().push(far)[0], { offsetNs: 1_795_307_324_798_724_587n })
})

t.test('answers that are errors or of an unknown kind are skipped', async (t) => {
  const text = `\t7eec02.fffe.3233f2-0 seq 0 RESPONSE MANAGEMENT_ERROR_STATUS \n\t7eec02.fffe.3233f2-0 seq 1 RESPONSE MANAGEMENT PORT_STATS_NP \n\t\tportIdentity 7eec02.fffe.3233f2-1\n`
  t.same(createPmcReader().push(text + SLAVE), ANSWERS)
})

t.test('any text at all, and any damage to a real one, throws nothing', async (t) => {
  fc.assert(
    fc.property(anyText({ maxLength: 300 }), fc.nat(SLAVE.length), (noise, at) => {
      const reader = createPmcReader()
      reader.push(noise)
      reader.push(SLAVE.slice(0, at) + noise + SLAVE.slice(at))
    }),
    { numRuns: 300 },
  )
  t.pass('no fault')
})

t.test('holds no more than a line of endless input', async (t) => {
  const reader = createPmcReader()
  for (let i = 0; i < 100; i++) reader.push('x'.repeat(100_000))
  t.same(reader.push(`\n${SLAVE}`), ANSWERS)
})
