import { setTimeout as passed } from 'node:timers/promises'
import t from 'tap'
import { createSilenceFramer } from '../../io/protocol-world.ts'

function framerWith(limits: { silenceMs: number; maxFrameBytes: number }, settle = () => {}) {
  const frames: { hex: string; atUs: number; cut: boolean }[] = []
  const framer = createSilenceFramer({ ...limits, settle })
  framer.onFrame((frame, atUs, cut) => frames.push({ hex: Buffer.from(frame).toString('hex'), atUs, cut }))
  return { framer, frames }
}

/** Waits for a frame; the silence itself is real time, kept by serialport's parser. */
async function framesOf(frames: unknown[], count: number): Promise<void> {
  for (let turn = 0; turn < 2000 && frames.length < count; turn++) await passed(1)
}

t.test(
  'silence on the line ends a frame, which holds every byte since the last one and the timestamp of its end',
  async (t) => {
    const { framer, frames } = framerWith({ silenceMs: 5, maxFrameBytes: 100 })
    framer.feed(Uint8Array.of(1), 10)
    framer.feed(Uint8Array.of(2, 3), 20)
    await framesOf(frames, 1)
    t.same(frames, [{ hex: '010203', atUs: 20, cut: false }])
    framer.feed(Uint8Array.of(4), 30)
    await framesOf(frames, 2)
    t.same(frames[1], { hex: '04', atUs: 30, cut: false })
    framer.close()
  },
)

t.test('bytes read late but far apart are two frames, whatever the timer says', async (t) => {
  const { framer, frames } = framerWith({ silenceMs: 5, maxFrameBytes: 100 })
  framer.feed(Uint8Array.of(1), 10_000)
  framer.feed(Uint8Array.of(2), 14_999)
  framer.feed(Uint8Array.of(3), 19_999)
  t.same(frames, [{ hex: '0102', atUs: 14_999, cut: false }])
  framer.close()
})

t.test('a frame longer than the limit is passed on in pieces that say so', async (t) => {
  const { framer, frames } = framerWith({ silenceMs: 5, maxFrameBytes: 4 })
  framer.feed(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9), 10)
  t.same(
    frames.map(({ hex, cut }) => [hex, cut]),
    [
      ['01020304', true],
      ['05060708', true],
    ],
  )
  await framesOf(frames, 3)
  t.same(frames[2], { hex: '09', atUs: 10, cut: false })
  framer.close()
})

t.test('bytes held when the line closes are passed on, and nothing after', async (t) => {
  const { framer, frames } = framerWith({ silenceMs: 10_000, maxFrameBytes: 100 })
  framer.feed(Uint8Array.of(1), 10)
  framer.close()
  t.match(frames, [{ hex: '01' }])
  t.equal(frames.length, 1)
})

t.test('a frame has not ended while more of it has been read but not passed on yet', async (t) => {
  const waiting: [number, number][] = [
    [2, 10_100],
    [3, 10_200],
    [4, 19_000],
  ]
  const settle = () => {
    const [byte, atUs] = waiting.shift() ?? []
    if (byte !== undefined && atUs !== undefined) framer.feed(Uint8Array.of(byte), atUs)
  }
  const { framer, frames } = framerWith({ silenceMs: 5, maxFrameBytes: 100 }, settle)
  framer.feed(Uint8Array.of(1), 10_000)
  await framesOf(frames, 2)
  t.same(frames, [
    { hex: '010203', atUs: 10_200, cut: false },
    { hex: '04', atUs: 19_000, cut: false },
  ])
  framer.close()
})
