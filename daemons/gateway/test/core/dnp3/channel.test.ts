import fc from 'fast-check'
import t from 'tap'
import { linkCounts, OutstationChannel } from '../../../core/dnp3/channel.ts'
import { cutFrame, type LinkFrame, PRIMARY, SECONDARY, sealFrame } from '../../../wire/dnp3/link.ts'
import { segmentsOf } from '../../../wire/dnp3/transport.ts'

function link() {
  const counts = linkCounts()
  const written: LinkFrame[] = []
  const heard: [string, boolean][] = []
  const noise: [bytes: number, isDamaged: boolean][] = []
  const channel = new OutstationChannel({
    address: 10,
    masters: [1],
    frameTimeoutMs: 1000,
    fragmentBytes: 2048,
    counts,
    write(bytes) {
      const cut = cutFrame(bytes)
      if (cut?.kind === 'frame') written.push(cut.frame)
    },
    onFrame() {},
    onNoise: (bytes, isDamaged) => void noise.push([bytes.length, isDamaged]),
    onHeard() {},
    onFragment: (_, fragment, isBroadcast) => void heard.push([Buffer.from(fragment).toString('hex'), isBroadcast]),
  })
  const frame = (code: number, over: Partial<LinkFrame> = {}) =>
    sealFrame({
      ...{ isFromMaster: true, isPrimary: true, frameCountBit: null, function: code, destination: 10, source: 1 },
      data: new Uint8Array(0),
      ...over,
    })
  /** Takes a frame; returns the functions of what is said to it. */
  function say(...frames: Uint8Array[]): number[] {
    written.length = 0
    for (const one of frames) channel.feed(one, 0)
    return written.map((one) => one.function)
  }
  return { channel, counts, frame, heard, noise, say, written }
}

const [segment = new Uint8Array(0)] = segmentsOf(Uint8Array.of(0xc0, 1), 0)

t.test('IEEE 1815 9 the link is reset, tested, and says that it is there', async (t) => {
  const { frame, say } = link()
  t.same(say(frame(PRIMARY.testLink, { frameCountBit: true })), [SECONDARY.nack], 'before a reset')
  t.same(say(frame(PRIMARY.resetLink)), [SECONDARY.ack])
  t.same(say(frame(PRIMARY.testLink, { frameCountBit: true })), [SECONDARY.ack])
  t.same(say(frame(PRIMARY.requestStatus)), [SECONDARY.linkStatus])
  t.same(say(frame(7)), [SECONDARY.notSupported])
})

t.test('IEEE 1815 9 confirmed data that comes twice is acknowledged twice and taken once', async (t) => {
  const { frame, heard, say } = link()
  say(frame(PRIMARY.resetLink))
  const data = { frameCountBit: true, data: segment }
  t.same(say(frame(PRIMARY.confirmedData, data), frame(PRIMARY.confirmedData, data)), [SECONDARY.ack, SECONDARY.ack])
  t.same(heard, [['c001', false]])
  say(frame(PRIMARY.confirmedData, { ...data, frameCountBit: false }))
  t.equal(heard.length, 2)
})

t.test('other stations are not heard, and a broadcast is not answered', async (t) => {
  const { counts, frame, heard, say } = link()
  t.same(say(frame(PRIMARY.unconfirmedData, { data: segment, destination: 11 })), [])
  t.same(say(frame(PRIMARY.unconfirmedData, { data: segment, source: 2 })), [])
  t.same(say(frame(PRIMARY.unconfirmedData, { data: segment, isFromMaster: false })), [])
  t.same(say(frame(PRIMARY.requestStatus, { destination: 0xffff })), [])
  t.same(heard, [])
  say(frame(PRIMARY.unconfirmedData, { data: segment, destination: 0xfffd }))
  t.same(heard, [['c001', true]])
  t.match(counts, { otherStations: 3, rxFrames: 5 })
})

t.test('a fragment goes out in frames, and comes in over pieces of any size, through noise', async (t) => {
  const { channel, counts, frame, heard, written } = link()
  channel.send(1, new Uint8Array(600), false)
  t.same(
    written.map(({ data }) => data.length),
    [250, 250, 103],
  )
  t.ok(written.every((one) => one.isPrimary && !one.isFromMaster && one.destination === 1 && one.source === 10))
  const whole = Uint8Array.of(1, 2, 3, ...frame(PRIMARY.unconfirmedData, { data: segment }))
  for (const byte of whole) channel.feed(Uint8Array.of(byte), 0)
  t.same(heard, [['c001', false]])
  t.equal(counts.noiseBytes, 3)
  channel.feed(
    frame(PRIMARY.unconfirmedData, { data: segment }).map((byte, at) => (at === 11 ? byte ^ 1 : byte)),
    0,
  )
  t.equal(counts.damagedFrames, 1)
})

t.test('random bytes never throw, and are not kept without bound', async () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 20 }), (pieces) => {
      const { channel } = link()
      for (const piece of pieces) channel.feed(Uint8Array.of(0x05, 0x64, 0xff, ...piece), 0)
    }),
    { numRuns: 500 },
  )
})
