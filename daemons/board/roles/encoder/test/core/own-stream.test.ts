import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createOwnSession } from '../../../../core/streams/announcing.ts'
import type { OwnRefClock } from '../../../../wire/streams/description.ts'
import { readSdp, writeSdp } from '../../../../wire/streams/sdp.ts'
import { ownStream } from '../../core/encoder-view.ts'

const PTP: OwnRefClock = { kind: 'ptp', grandmaster: '00-1D-C1-FF-FE-12-34-56', domain: 0 }
const MAC: OwnRefClock = { kind: 'localmac', mac: '00-1D-C1-12-34-56' }
const path = { group: '239.69.10.4', port: 5004, ttl: 32 }
const facts = {
  name: 'Lobby music',
  paths: [path],
  payloadType: 97,
  encoding: 'L24' as const,
  channels: 2,
  packetMs: 1,
}

/** The description of a board as a receiver reads it. */
function heardOf(...of: Parameters<typeof ownStream>) {
  return readSdp(writeSdp(createOwnSession(fakeClock(), '17').describe(ownStream(...of))))
}

t.test('AES67 8 the description says what is sent, and by which clock', async (t) => {
  const stream = { ...facts, origin: '10.20.4.12', sampleRate: 48_000, mediaOffset: 0, refClock: PTP }
  t.match(heardOf(facts, ['10.20.4.12'], PTP), { ...stream, paths: [{ ...path, source: null }] })
  t.match(heardOf(facts, ['10.20.4.12'], MAC), { refClock: MAC })
})

t.test('RFC 7104 4 two groups are two paths of one stream, distinguished by their senders', async (t) => {
  const second = { group: '239.69.11.4', port: 5004, ttl: 32 }
  const doubled = { ...facts, paths: [path, second] }
  t.match(heardOf(doubled, ['10.20.4.12', '10.21.4.12'], PTP), {
    origin: '10.20.4.12',
    paths: [
      { ...path, source: '10.20.4.12' },
      { ...second, source: '10.21.4.12' },
    ],
  })
})

t.test('packets of an eighth of a millisecond have six frames', async (t) => {
  const text = writeSdp(
    createOwnSession(fakeClock(), '17').describe(ownStream({ ...facts, packetMs: 0.125 }, ['10.0.0.1'], PTP)),
  )
  t.match(text, /a=ptime:0\.125\r\n/)
  t.match(text, /a=framecount:6\r\n/)
})

t.test('ST 2022-7 a path that never had a network is not part of the stream, whichever of the two it is', async (t) => {
  const second = { group: '239.69.11.4', port: 5004, ttl: 32 }
  const doubled = { ...facts, paths: [path, second] }
  t.match(heardOf(doubled, ['10.20.4.12', null], PTP), { origin: '10.20.4.12', paths: [{ ...path, source: null }] })
  const other = heardOf(doubled, [null, '10.21.4.12'], PTP)
  t.match(other, { origin: '10.21.4.12', paths: [{ ...second, source: null }] })
  t.equal(other.paths.length, 1)
})
