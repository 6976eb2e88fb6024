import t from 'tap'
import { gstMissing } from './gst-here.ts'
import { FADE_FRAMES, hear } from './playing.ts'

const skip = gstMissing()
// Each waits for sound to be played: they do so side by side.
t.jobs = 8
const buffered = true

const format = { encoding: 'L24', channels: 2, framesPerPacket: 48 } as const
const FRAMES = 48 * 200

/** Its end is a loss as any other: three packets are stood in for, then it is a glitch. */
const END = { concealed: 3, glitches: 1 }

/** Frames of packets by their number. */
function framesOf(...numbers: number[]): number[] {
  return numbers.flatMap((number) => Array.from({ length: 48 }, (_, frame) => number * 48 + frame))
}

/** Those beyond the fade in which sound begins. */
function beyondFade(frames: number[]): number[] {
  return frames.filter((frame) => frame >= FADE_FRAMES)
}

t.test('one packet that is lost is stood in for, and no other frame is touched', { skip, buffered }, async (t) => {
  const heard = await hear({ group: '239.67.2.1', format, frames: FRAMES, fault: (all) => all.toSpliced(100, 1) })
  t.same(beyondFade(heard.different), framesOf(100))
  t.match(heard.stats, { packets: 199, lost: 1, concealed: 1 + END.concealed, glitches: END.glitches, late: 0 })
})

t.test('three packets in a row are stood in for, and end without a trace', { skip, buffered }, async (t) => {
  const heard = await hear({ group: '239.67.2.2', format, frames: FRAMES, fault: (all) => all.toSpliced(60, 3) })
  t.same(beyondFade(heard.different), framesOf(60, 61, 62))
  t.match(heard.stats, { lost: 3, concealed: 3 + END.concealed, glitches: END.glitches })
})

t.test('a burst of loss is one glitch: out and in again by fades, then exact', { skip, buffered }, async (t) => {
  const heard = await hear({ group: '239.67.2.3', format, frames: FRAMES, fault: (all) => all.toSpliced(60, 20) })
  const wrong = beyondFade(heard.different)
  t.equal(wrong[0], 60 * 48)
  t.ok((wrong.at(-1) ?? 0) < 80 * 48 + FADE_FRAMES, 'exact 5 ms after sound is back', { last: wrong.at(-1) })
  t.match(heard.stats, { lost: 20, concealed: 3 + END.concealed, glitches: 1 + END.glitches })
})

t.test('packets that come twice are counted and change nothing', { skip, buffered }, async (t) => {
  const fault = (all: Buffer[]) => all.flatMap((packet, index) => (index % 10 === 5 ? [packet, packet] : [packet]))
  const heard = await hear({ group: '239.67.2.4', format, frames: FRAMES, fault })
  t.same(beyondFade(heard.different), [])
  t.match(heard.stats, { packets: 200, duplicate: 20, lost: 0, reordered: 0 })
})

t.test('packets out of order are counted and change nothing', { skip, buffered }, async (t) => {
  const fault = (all: Buffer[]) => all.map((packet, index) => all[index ^ 1] ?? packet)
  const heard = await hear({ group: '239.67.2.5', format, frames: FRAMES, fault })
  t.same(beyondFade(heard.different), [])
  t.match(heard.stats, { packets: 200, reordered: 100, lost: 0, duplicate: 0 })
})

t.test('RFC 3550 5.1 timestamps that wrap at 2^32 go on as if they did not', { skip, buffered }, async (t) => {
  const heard = await hear({ group: '239.67.2.6', format, frames: FRAMES, wrapAfter: 4800 })
  t.equal(heard.stats.last?.timestamp, FRAMES - 48 - 4800)
  t.same(beyondFade(heard.different), [])
})

t.test('channels and packet time are found out where nothing says them', { skip, buffered }, async (t) => {
  const packed = { encoding: 'L16', channels: 2, framesPerPacket: 12 } as const
  const heard = await hear({ group: '239.67.2.7', format: packed, frames: 4800, options: { channels: 0 } })
  // The first packet only says what the second one is.
  t.same(
    heard.different.filter((frame) => frame >= FADE_FRAMES + 12),
    [],
  )
  t.match(heard.stats, { channels: 2, framesPerPacket: 12, wrongFormat: 0 })
})

t.test(
  'a stream of another size than announced is silent, and what it is can be read',
  { skip, buffered },
  async (t) => {
    const packed = { encoding: 'L16', channels: 8, framesPerPacket: 48 } as const
    const options = { encoding: 'L24', channels: 2 } as const
    const heard = await hear({ group: '239.67.2.8', format: packed, frames: 4800, options })
    t.equal(heard.equal, 0)
    t.ok(heard.stats.wrongFormat > 80, 'all but the first are refused', { wrongFormat: heard.stats.wrongFormat })
    t.equal(heard.stats.paths[0]?.seenFrameBytes, 16)
  },
)

t.test('another payload type is not played', { skip, buffered }, async (t) => {
  const heard = await hear({ group: '239.67.2.9', format, frames: 4800, options: { payloadType: 98 } })
  t.equal(heard.equal, 0)
  t.match(heard.stats, { wrongFormat: 100, packets: 0 })
  t.equal(heard.stats.paths[0]?.payloadType, 97)
})

t.test('contributors, header extension and padding are stepped over', { skip, buffered }, async (t) => {
  const fault = (all: Buffer[]) =>
    all.map((packet) => {
      const header = Buffer.from(packet.subarray(0, 12))
      header[0] = 0xb2 // version 2, padding, extension, two contributors
      const extension = Buffer.from([0xbe, 0xde, 0, 1, 1, 2, 3, 4])
      return Buffer.concat([header, Buffer.alloc(8), extension, packet.subarray(12), Buffer.from([0, 0, 3])])
    })
  const heard = await hear({ group: '239.67.2.10', format, frames: 4800, fault })
  t.same(beyondFade(heard.different), [])
  t.equal(heard.stats.malformed, 0)
})

t.test('arrivals are told against the link offset', { skip, buffered }, async (t) => {
  const heard = await hear({ group: '239.67.2.11', format, frames: 4800 })
  const { arrivals } = heard
  // Sent 200 ms ahead of their time and in one go, with 100 ms of link offset: the last one 100 ms earlier still.
  t.ok(arrivals && arrivals.earliestNs > 250e6 && arrivals.latestNs > 100e6, 'margins', { arrivals })
  t.ok(arrivals && arrivals.earliestNs - arrivals.latestNs === arrivals.jitterNs.max, 'the span is the jitter')
  t.equal(arrivals?.packets, 100)
})

t.test(
  'what a sender says of a time anew, after its clock went back, is what is played',
  { skip, buffered },
  async (t) => {
    const before = (packet: Buffer) => Buffer.concat([packet.subarray(0, 12), Buffer.alloc(packet.length - 12, 0x11)])
    const after = (packet: Buffer) => {
      const renumbered = Buffer.from(packet)
      renumbered.writeUInt16BE((packet.readUInt16BE(2) + 200) & 0xffff, 2)
      return renumbered
    }
    const fault = (all: Buffer[]) => [...all.map(before), ...all.map(after)]
    const heard = await hear({ group: '239.67.2.30', format, frames: FRAMES, fault })
    t.same(beyondFade(heard.different), [])
    t.match(heard.stats, { packets: 400, lost: 0, duplicate: 0 })
  },
)
