import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import type { OnvifClient } from '../../../core/cameras/onvif.ts'
import { createOnvifOutputs } from '../../../core/outputs/onvif-driver.ts'
import { joinDrivers, type OutputState, Outputs } from '../../../core/outputs/outputs.ts'

const yard = {
  ...{ id: 'yard', name: 'Yard', onvif: { service: 'http://10.0.0.5/device' }, username: 'ann', password: 'x' },
  outputs: { probedAt: 1, notes: null, list: [{ id: 'r1', kind: 'siren', name: 'Siren', driver: 'onvif' }] },
} as unknown as CameraRecord

function stage(states: readonly OutputState[] = [], clock = fakeClock()) {
  const switched: string[] = []
  const written: unknown[] = []
  const stuck: (string | null)[] = []
  const told: unknown[] = []
  const disk = { states, isFull: false }
  const camera: { fault: Fault | undefined; held: PromiseWithResolvers<void> | undefined } = {
    ...{ fault: undefined, held: undefined },
  }
  const outputs = new Outputs({
    ...{ clock, states, mostWaiting: 2, retry: { firstMs: 1000, maxMs: 4000 } },
    cameraOf: (id) => (id === 'yard' ? yard : undefined),
    driver: {
      find: async () => ({ list: [], notes: null }),
      async set(_, output, isOn) {
        await camera.held?.promise
        if (camera.fault) throw camera.fault
        switched.push(`${output} ${isOn ? 'on' : 'off'}`)
      },
    },
    async save(next) {
      if (disk.isFull) throw new Fault('store_write_failed', 'the disk is full')
      disk.states = next
    },
    writes: { add: async (write) => void written.push(write) },
    onSwitched: (...of) => void told.push(of),
    onStuck: (_, __, sentence) => void stuck.push(sentence),
  })
  const settle = async () => {
    for (let at = 0; at < 30; at++) await Promise.resolve()
  }
  async function pass(ms: number) {
    clock.advance(ms)
    await settle()
  }
  return { camera, clock, disk, outputs, pass, settle, stuck, switched, told, written }
}

const pulse = { output: 'r1', state: 'pulse', seconds: 10 } as const
const ann = { performedBy: 'ann' }

t.test('3A.outputs a pulse ends by itself, and both ends are written down', async (t) => {
  const { clock, outputs, pass, switched, told, written } = stage()
  const until = clock.epochMs() + 10_000
  t.match(await outputs.switch(yard, pulse, ann), { id: 'r1', on: true, until })
  await pass(9999)
  t.same(switched, ['r1 on'])
  await pass(1)
  t.same(switched, ['r1 on', 'r1 off'])
  t.match(outputs.of(yard), [{ on: false, until: null }])
  t.same(told, [['yard', 'r1', { on: true, until }]], 'its end is not told')
  t.match(written, [
    { operation: 'output', performedBy: 'ann', detail: { output: 'r1', state: 'pulse', seconds: 10 } },
    { performedBy: null, detail: { state: 'off' } },
  ])
})

t.test('3A.outputs what was switched on for a time is off after a restart, whatever the clock says', async (t) => {
  const clock = fakeClock()
  const before = stage([], clock)
  before.camera.fault = new Fault('camera_unreachable', 'It does not answer.')
  await t.rejects(before.outputs.switch(yard, pulse, ann), { code: 'camera_unreachable' })
  t.match(before.disk.states, [{ on: false, offAt: clock.epochMs() + 10_000 }], 'it may be on: nobody knows')
  clock.advance(60_000)
  const late = stage(before.disk.states, clock)
  late.outputs.start()
  await late.pass(0)
  t.same(late.switched, ['r1 off'])
  const inAYear = stage([{ camera: 'yard', output: 'r1', on: true, offAt: clock.epochMs() + 365 * 86_400_000 }], clock)
  inAYear.outputs.start()
  await inAYear.pass(300_000)
  t.same(inAYear.switched, ['r1 off'])
})

t.test('one that cannot be switched off is tried again and again, and the ledger says so', async (t) => {
  const { camera, outputs, pass, stuck, switched } = stage()
  await outputs.switch(yard, pulse, ann)
  camera.fault = new Fault('onvif_failed', 'The camera answered with a fault.')
  for (const ms of [10_000, 1000, 2000, 4000, 4000]) await pass(ms)
  t.equal(stuck.filter((one) => one?.includes('fault')).length, 5)
  camera.fault = undefined
  await pass(4000)
  t.same(switched, ['r1 on', 'r1 off'])
  t.equal(stuck.at(-1), null)
})

t.test('3A.writes what a camera refuses is written down with its answer, and nothing is planned', async (t) => {
  const { camera, disk, outputs, pass, told, written } = stage()
  camera.fault = new Fault('onvif_failed', 'The camera answered with a fault: bound to a rule.')
  await t.rejects(outputs.switch(yard, pulse, { performedBy: null, rule: 'Night' }), { code: 'onvif_failed' })
  t.match(written, [{ performedBy: null, detail: { rule: 'Night', error: /bound to a rule/ } }])
  t.same([disk.states, told], [[], []])
  camera.fault = undefined
  await pass(20_000)
  t.equal(written.length, 1)
  await t.rejects(outputs.switch(yard, { ...pulse, output: 'r2' }, ann), { code: 'unknown_output' })
})

t.test(
  'nothing is switched on that could not be switched off again, and orders of one camera are bounded',
  async (t) => {
    const { camera, disk, outputs, settle, switched } = stage()
    disk.isFull = true
    await t.rejects(outputs.switch(yard, pulse, ann), { code: 'store_write_failed' })
    t.same(switched, [])
    disk.isFull = false
    camera.held = Promise.withResolvers()
    const waiting = [outputs.switch(yard, pulse, ann), outputs.switch(yard, { ...pulse, state: 'off' }, ann)]
    await settle()
    await t.rejects(outputs.switch(yard, pulse, ann), { code: 'output_busy' })
    camera.held.resolve()
    await Promise.all(waiting)
    t.same(switched, ['r1 on', 'r1 off'])
  },
)

t.test('a recorder that is stopped leaves nothing on that is on for a time', async (t) => {
  const { outputs, switched } = stage()
  await outputs.switch(yard, pulse, ann)
  await outputs.stop()
  t.same(switched, ['r1 on', 'r1 off'])
})

t.test('relays are found where a camera has them, and what hangs on one is guessed from its name alone', async (t) => {
  const asked: string[] = []
  const at = (own: string[] | undefined, apart: string[]) =>
    createOnvifOutputs({
      open: async () => ({
        async ask(address: string, { answer }: { answer: string }) {
          asked.push(`${new URL(address).pathname} ${answer}`)
          if (answer === 'GetServicesResponse') return 'http://192.0.2.1/io'
          if (address.endsWith('/device') && own === undefined) throw new Fault('onvif_unsupported', 'unknown')
          return address.endsWith('/io') ? apart : own
        },
      }),
    } as unknown as OnvifClient)
  t.match((await at(['a', 'WhiteLight', 'siren_0'], []).find(yard)).list, [
    { id: 'a', kind: 'relay', name: 'Relay 1' },
    { kind: 'light', name: 'WhiteLight' },
    { kind: 'siren' },
  ])
  t.match(await at(undefined, ['b']).find(yard), { list: [{ id: 'b' }], notes: null })
  t.match(await at(undefined, []).find(yard), { list: [], notes: /no relays/ })
  await at(undefined, ['b']).set(yard, 'b', true)
  t.equal(asked.at(-1), '/io SetRelayOutputStateResponse')
  await t.rejects(at([], []).find({ ...yard, onvif: null }), { code: 'no_onvif' })
})

t.test('outputs that do not answer just now stay, and a fault of the program is not hidden', async (t) => {
  const light = { id: 'dahua-light', kind: 'light', name: 'White light', driver: 'dahua' } as const
  const lit = { ...yard, outputs: { probedAt: 1, notes: null, list: [light] } } as unknown as CameraRecord
  const set = async () => {}
  const joined = (thrown: Error) =>
    joinDrivers({
      onvif: { set, find: async () => ({ list: [], notes: 'No relays.' }) },
      dahua: { set, find: async () => Promise.reject(thrown) },
    })
  const away = new Fault('camera_unreachable', 'away')
  t.same(await joined(away).find(lit), { list: [light], notes: 'No relays.' })
  t.same(await joined(away).find(yard), { list: [], notes: 'No relays.' }, 'a relay is not one of them')
  await t.rejects(joined(new TypeError('wrong')).find(lit), TypeError)
})
