import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heldBytes, rowOf } from '#kit/test/heap.ts'
import { createChannel } from '../../../core/live/channel.ts'
import { type SubEvent, type SubState, SubStream, subStateTable } from '../../../core/live/sub-stream.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { StreamPlace } from '../../../core/ports.ts'
import { createStream, type StreamTap } from '../../../core/recording/stream.ts'
import { createStreamMemory } from '../../../core/recording/stream-memory.ts'
import { soundFormat } from '../../../wire/sound.ts'
import { alaw } from '../../parameter-sets.ts'
import { picture, sets } from './pictures.ts'

const wall = { at: (ms: number) => ms, epoch: () => 0, aheadMs: () => 0 }
const small: StreamPlace = { url: 'rtsp://c/small', username: undefined, password: undefined }

const memory = createStreamMemory(1e9)
const channel = { groupBytes: 10_000, memory, wall }

function stage() {
  const clock = fakeClock()
  const [main, own] = [createChannel(channel), createChannel(channel)]
  const sessions: { at: string; tap: StreamTap; isAborted: () => boolean; end: () => void }[] = []
  const sub = new SubStream({
    ...{ clock, main, own },
    play(place, tap, signal) {
      const over = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => over.resolve())
      sessions.push({ at: place.url, tap, isAborted: () => signal.aborted, end: over.resolve })
      return over.promise
    },
    limits: { idleMs: 10_000, pictureMs: 30_000, retry: { firstMs: 500, maxMs: 8000 } },
  })
  sub.moveTo(small)
  /** One who watches: the first bytes of the pictures that are shown. */
  function watch() {
    const shown: string[] = []
    const leave = sub.watch({
      isHearing: true,
      begin: () => {},
      show: ({ bytes }) => shown.push(bytes.at(-1) === 1 ? 'sub' : 'main'),
      hear: (bytes) => shown.push(bytes.at(-1) === 1 ? 'sub heard' : 'main heard'),
      end: () => {},
    })
    return { leave, shown }
  }
  let atMs = 0
  const at = () => {
    atMs += 100
    return { positionMs: atMs, isBreak: false }
  }
  const showMain = (isKey = true) => main.picture(picture(isKey, 2), at())
  const showSub = (isKey = true) => sessions.at(-1)?.tap.picture(picture(isKey, 1), at())
  return { clock, sessions, showMain, showSub, sub, watch }
}

t.test('a sub stream is opened for the first who watches it, and closed after the last has left', async (t) => {
  const { clock, sessions, showMain, showSub, sub, watch } = stage()
  t.equal(sessions.length, 0)
  const [one, other] = [watch(), watch()]
  t.equal(sessions.length, 1)
  showMain()
  showSub()
  showSub(false)
  t.same(
    [one.shown, other.shown],
    [
      ['sub', 'sub'],
      ['sub', 'sub'],
    ],
  )
  one.leave()
  other.leave()
  clock.advance(9000)
  const late = watch()
  clock.advance(60_000)
  t.equal(sessions.length, 1, 'the next came in time')
  late.leave()
  clock.advance(10_000)
  t.ok(sessions[0]?.isAborted())
  await clock.run(0)
  t.same([sub.state(), clock.pending()], ['closed', 0])
})

t.test('its sound is heard, and that of a session that is over is not', async (t) => {
  const { sessions, showSub, sub, watch } = stage()
  const viewer = watch()
  const hear = () => sessions[0]?.tap.sound({ timestamp: 0, ticks: 1024, bytes: Uint8Array.of(1) }, 5000)
  sessions[0]?.tap.hear(soundFormat('mp4a', 16_000, Uint8Array.of(0x14, 0x08)))
  showSub()
  hear()
  t.same(viewer.shown, ['sub', 'sub heard'])
  sub.close()
  hear()
  t.equal(viewer.shown.length, 2)
})

t.test('where it cannot be played the main stream is shown, until it can', async (t) => {
  const { clock, sessions, showMain, showSub, watch } = stage()
  const viewer = watch()
  showMain()
  sessions[0]?.end()
  await clock.run(0)
  t.same(viewer.shown, ['main'], 'the group under way, at once')
  await clock.run(500)
  t.equal(sessions.length, 2)
  showMain(false)
  showSub(false)
  showMain(false)
  showSub()
  showMain(false)
  t.same(viewer.shown, ['main', 'main', 'main', 'sub'])
})

t.test('one that plays and sends no picture is given up, and tried again after waits that double', async (t) => {
  const { clock, sessions, watch } = stage()
  watch()
  await clock.run(30_000)
  t.ok(sessions[0]?.isAborted())
  for (const [at, waitMs] of [500, 1000, 2000].entries()) {
    await clock.run(waitMs)
    t.equal(sessions.length, at + 2)
    sessions.at(-1)?.end()
    await clock.run(0)
  }
})

t.test('a camera without one shows its main stream, and asks nothing', async (t) => {
  const { clock, sessions, showMain, sub, watch } = stage()
  sub.moveTo(undefined)
  const viewer = watch()
  showMain()
  await clock.run(60_000)
  t.same([viewer.shown, sessions.length], [['main'], 0])
})

t.test('another address is followed at once, and nothing of the old one is shown any more', async (t) => {
  const { sessions, showSub, sub, watch } = stage()
  const viewer = watch()
  showSub()
  sub.moveTo({ ...small })
  t.equal(sessions.length, 1, 'the same address is no other')
  sub.moveTo({ ...small, url: 'rtsp://c/other' })
  t.same([sessions.map(({ at }) => at), sessions[0]?.isAborted()], [['rtsp://c/small', 'rtsp://c/other'], true])
  sessions[0]?.tap.picture(picture(true, 1), { positionMs: 5000, isBreak: false })
  t.equal(viewer.shown.length, 1)
  showSub()
  t.equal(viewer.shown.length, 2)
})

t.test('a sub stream goes through its table', async (t) => {
  const reached: Record<SubState, () => Promise<ReturnType<typeof stage>>> = {
    closed: async () => stage(),
    async opening() {
      const all = stage()
      all.watch()
      return all
    },
    async playing() {
      const all = await reached.opening()
      all.showSub()
      return all
    },
    async failed() {
      const all = await reached.opening()
      all.sessions[0]?.end()
      await all.clock.run(0)
      return all
    },
  }
  const events: Record<SubEvent, (all: ReturnType<typeof stage>) => void> = {
    wanted: ({ watch }) => void watch(),
    pictured: ({ showSub }) => showSub(),
    ended: ({ sessions }) => sessions.at(-1)?.end(),
    retryDue: ({ clock }) => clock.advance(500),
    idle: ({ sub }) => sub.close(),
  }
  for (const [state, row] of Object.entries(subStateTable))
    for (const [event, act] of Object.entries(events)) {
      const all = await reached[state as SubState]()
      t.equal(all.sub.state(), state)
      act(all)
      await all.clock.run(0)
      t.equal(all.sub.state(), row[event as SubEvent] ?? state, `${state}, ${event}`)
    }
})

t.test('a sub stream takes no more than its row says beside its pictures and its sound', async (t) => {
  const settings = { 'cameras.max': 1, 'cameras.reorder_bytes': 100_000, 'cameras.udp_buffer_bytes': 0 }
  const row = rowOf(memoryPlan().rows, 'sub streams', settings)
  const before = await heldBytes()
  const clock = fakeClock()
  const limits = {
    ...{ fileMs: 60_000, filesPerMinute: 30, groupBytes: 1e9, pictureBytes: 1e9, soundBytes: 0, reorderMs: 300 },
    ...{ reorderPackets: 1000, reorderBytes: 100_000, slewPpm: 500, toleranceMs: 2000 },
  }
  let heard = 0
  const tap = { picture() {}, hear() {}, sound: () => heard++, lost() {} }
  const stream = createStream({ camera: '', clock, wall, store: undefined, tap, memory, limits, onPicture() {} })
  const sound = { payloadType: 8, format: alaw }
  stream.onOpened({ payloadType: 96, clockRate: 90_000, codec: sets.codec, known: sets.units, sound })
  const packet = (payloadType: number, sequence: number, bytes: number) => {
    const all = new Uint8Array(12 + bytes).fill(0x41, 12)
    all.set([0x80, 0x80 | payloadType, sequence >> 8, sequence & 0xff, 0, 0, 0, sequence, 0, 0, 0, 1])
    return all
  }
  // Pictures and sound are not kept, and packets of both wait for the one that is missing.
  for (let at = 0; at < 100; at++) {
    stream.onPacket(packet(96, at, 10_000), 'pictures')
    stream.onPacket(packet(8, at, 800), 'sound')
  }
  for (let at = 101; at < 160; at++) {
    stream.onPacket(packet(96, at, 1500), 'pictures')
    stream.onPacket(packet(8, at, 1500), 'sound')
  }
  t.same([stream.counts().pictures, heard], [100, 100])
  const held = (await heldBytes()) - before
  // 177 kB wait, but V8 may let go of tens of kilobytes of its own meanwhile.
  t.ok(held > 100_000 && held < row.allBytes, `${held} bytes, of ${row.allBytes}`)
  stream.onEnded()
})
