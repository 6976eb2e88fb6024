/** An encoder and a decoder on one wire: the stream is found, routed, and played by the clock that both follow. */
import t, { type Test } from 'tap'
import { startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { findProgram } from '../io/ptp.ts'
import { asksOf, type Machine, makeNetwork, noNetworkBecause } from './network.ts'

const ptp4lMissing = findProgram('ptp4l') === undefined ? 'ptp4l is not installed' : false
const skip = noNetworkBecause() ?? (ptp4lMissing || gstMissing())

/** Time for an election and a lock. */
const LOCK_MS = 40_000

async function boardOn(t: Test, machine: Machine, sets: readonly string[]) {
  const always = ['audio.interface=eth0', 'ptp.interface=eth0', 'streams.ravenna=false', 'audio.look_ms=50']
  const daemon = await startDaemon(t, 'board', {
    within: machine.within,
    listen: '0.0.0.0:80',
    sets: [...always, ...sets],
  })
  const asks = await asksOf(t, machine, 80)
  const ask = async (path: string, form?: Record<string, string>) => JSON.parse(await asks(path, form))
  const check = async (name: string) => {
    const { decoder } = await ask('/api/status')
    return decoder.checks.find((one: { name: string }) => one.name === name)
  }
  return { ...daemon, ask, check }
}

t.test('a decoder plays by the clock of its encoder, and says so if it follows another', { skip }, async (t) => {
  const network = makeNetwork(t)
  const [one, other, apart] = ['10.77.0.1', '10.77.0.2', '10.77.0.3'].map((address) => network.machine(address))
  if (!one || !other || !apart) throw new Error('the network has no machines')
  const [encoder, decoder, third] = await Promise.all([
    boardOn(t, one, ['board.role=encoder', 'audio.source=tone']),
    boardOn(t, other, ['board.role=decoder', 'audio.sink=null']),
    boardOn(t, apart, ['board.role=decoder', 'audio.sink=null', 'ptp.domain=5']),
  ])
  const { encoder: sent } = await encoder.ask('/api/status')
  const form = { mcast: sent.stream.mcast, port: String(sent.stream.port), link_ms: '400' }
  await until(
    'the stream names a grandmaster',
    async () => {
      const [stream] = await decoder.ask('/api/streams')
      return stream?.refclk?.kind === 'ptp'
    },
    LOCK_MS,
  )
  await Promise.all([decoder, third].map((board) => board.ask('/api/route', form)))
  const isHeard = (view: { playing: boolean; meters: { peak_db: (number | null)[] } }) =>
    view.playing && view.meters.peak_db.every((db) => db !== null && db > -30)
  await until('it plays, and is heard', async () => isHeard((await decoder.ask('/api/status')).decoder), LOCK_MS)
  const { decoder: view, ptp } = await decoder.ask('/api/status')
  t.match(view, { sender: '10.77.0.1', route: { sync: 'clock', channels: 2 }, stream: { refclk: { kind: 'ptp' } } })
  t.equal(view.meters.peak_db.length, 2)
  t.ok(['locked', 'master'].includes(ptp.state), ptp.state)
  await until(
    'another clock is reported',
    // It may have played before both clocks were known: then it warns first, and goes on for a while.
    async () => {
      const { state, code } = (await third.check('grandmaster')) ?? {}
      return state === 'fault' && code === 'other_grandmaster'
    },
    LOCK_MS,
  )
  t.match((await third.check('grandmaster')).text, /in domain 0; this board follows .* in domain 5/)
  t.match((await third.ask('/api/status')).decoder, { playing: false, sender: '10.77.0.1' })
})
