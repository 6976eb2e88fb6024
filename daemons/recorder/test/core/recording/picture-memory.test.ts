import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { rowOf } from '#kit/test/heap.ts'
import { createChannel } from '../../../core/live/channel.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { Fragment } from '../../../core/ports.ts'
import { createStream } from '../../../core/recording/stream.ts'
import { createStreamMemory, type StreamMemory } from '../../../core/recording/stream-memory.ts'
import { picturesOf } from '../../../wire/mp4-samples.ts'
import type { BlockPool } from '../../../wire/picture-blocks.ts'
import { h264Sets } from '../../parameter-sets.ts'

const limits = {
  ...{ reorderPackets: 8, reorderBytes: 100_000, reorderMs: 300 },
  ...{ pictureBytes: 400_000, slewPpm: 500, toleranceMs: 2000 },
  ...{ fileMs: 60_000, groupBytes: 1_000_000, soundBytes: 0, filesPerMinute: 600 },
}
const wall = { at: (ms: number) => 1_900_000_000_000 + ms, epoch: () => 0, aheadMs: () => 0 }
const FU_A = 28
const MOST_PIECE = 60_000

/** The packets of a picture, whose bytes all say which one it is. */
function* packetsOf(number: number, isKey: boolean, length: number): Generator<Uint8Array> {
  const type = isKey ? 5 : 1
  for (let at = 0; at < length; at += MOST_PIECE) {
    const isLast = at + MOST_PIECE >= length
    const flags = (at === 0 ? 0x80 : 0) | (isLast ? 0x40 : 0)
    const packet = new Uint8Array(14 + Math.min(MOST_PIECE, length - at)).fill(number)
    packet.set([0x80, isLast ? 0x80 | 96 : 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x60 | FU_A, flags | type])
    new DataView(packet.buffer).setUint32(4, number * 9000)
    yield packet
  }
}

/** Memory that says what is in use, and what is counted of it. */
function watched(memory: StreamMemory) {
  const counted = new Map<unknown, number>()
  const used = new Set<Uint8Array>()
  const sumOf = (bytes: Iterable<number>) => [...bytes].reduce((sum, one) => sum + one, 0)
  const blocks: BlockPool = {
    take(bytes) {
      const block = memory.blocks.take(bytes)
      let holders = 1
      used.add(block.bytes)
      return {
        bytes: block.bytes,
        hold() {
          block.hold()
          holders++
        },
        release() {
          holders--
          if (holders === 0) used.delete(block.bytes)
          block.release()
        },
      }
    },
  }
  return {
    memory: {
      blocks,
      holder(give) {
        const holder = memory.holder(give)
        return {
          hold(bytes) {
            counted.set(give, bytes)
            return holder.hold(bytes)
          },
        }
      },
    } satisfies StreamMemory,
    usedBytes: () => sumOf([...used].map(({ length }) => length)),
    countedBytes: () => sumOf(counted.values()),
  }
}

/** A camera that is recorded to a slow disk and watched. */
function cameraOf(memory: StreamMemory) {
  const clock = fakeClock()
  const waiting: Fragment[] = []
  const written: number[] = []
  const state = { isFull: false }
  const channel = createChannel({ wall, memory, groupBytes: limits.groupBytes })
  const append = (fragment: Fragment) => !state.isFull && waiting.push(fragment) > 0
  const stream = createStream({
    ...{ camera: 'c', clock, wall, limits, memory, tap: channel, onPicture() {} },
    store: { isReady: () => true, isBehind: () => false, begin: () => ({ append, close() {} }) },
  })
  stream.onOpened({
    payloadType: 96,
    clockRate: 90_000,
    codec: h264Sets.codec,
    known: h264Sets.units,
    sound: undefined,
  })
  let number = 0
  let sequence = 0
  return {
    ...{ channel, written, state, stream, waitingBytes: () => waiting.reduce((sum, one) => sum + one.heldBytes, 0) },
    send(isKey: boolean, length: number): void {
      number++
      for (const packet of packetsOf(number, isKey, length)) {
        new DataView(packet.buffer).setUint16(2, sequence++)
        stream.onPacket(packet, 'pictures')
      }
      clock.advance(100)
    },
    /** The disk takes what waited longest. */
    write(): void {
      const fragment = waiting.shift()
      if (!fragment) return
      for (const { units } of picturesOf(Buffer.concat(fragment.pieces))) written.push(nameOf(units))
      fragment.onDone()
    },
    /** The disk is gone. */
    lose(): void {
      for (const fragment of waiting.splice(0)) fragment.onDone()
    },
    sent: () => number,
  }
}

/** @throws if its bytes are not all those of one picture */
function nameOf([unit = new Uint8Array()]: readonly Uint8Array[]): number {
  const [, name = 0] = unit
  if (Buffer.from(unit.subarray(1)).compare(Buffer.alloc(unit.length - 1, name)) !== 0)
    throw new TypeError(`picture ${name} is mixed with another`)
  return name
}

const length = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 2, max: 30_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 2, max: 300_000 }) },
)
const step = fc.record({
  camera: fc.nat(2),
  what: fc.constantFrom('send', 'send', 'send', 'send', 'key', 'write', 'write', 'lose', 'full', 'look', 'end'),
  length,
})

t.test('pictures stay as they came for as long as a disk or a viewer needs them, and no longer', async (t) => {
  const row = rowOf(memoryPlan().rows, 'blocks of which few', { 'cameras.max': 3 })
  const seen = { written: 0, looked: 0 }
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 150 }), (steps) => {
      const { countedBytes, memory, usedBytes } = watched(createStreamMemory(2_000_000, 1_000_000))
      const cameras = [0, 1, 2].map(() => cameraOf(memory))
      const looked: (readonly Uint8Array[])[] = []
      for (const { camera, length, what } of steps) {
        const one = cameras[camera]
        if (!one || one.sent() > 250) continue
        if (what === 'send' || what === 'key') one.send(what === 'key' || one.sent() === 0, length)
        else if (what === 'write') one.write()
        else if (what === 'lose') one.lose()
        else if (what === 'full') one.state.isFull = !one.state.isFull
        else if (what === 'end') one.channel.lost()
        else for (const { units } of one.channel.newest()?.group.pictures ?? []) looked.push(units)
        const waits = cameras.reduce((sum, { waitingBytes }) => sum + waitingBytes(), 0)
        const most = countedBytes() + waits + row.allBytes
        if (usedBytes() > most) throw new TypeError(`${usedBytes()} bytes are held, ${most} may be`)
      }
      for (const one of cameras) {
        one.stream.onEnded()
        one.state.isFull = false
        for (let at = 0; at < steps.length; at++) one.write()
        if (one.written.some((name, at) => name <= (one.written[at - 1] ?? 0))) throw new TypeError(`${one.written}`)
      }
      for (const units of looked) nameOf(units)
      seen.written += cameras.reduce((sum, { written }) => sum + written.length, 0)
      seen.looked += looked.length
      if (usedBytes() > 0) throw new TypeError(`${usedBytes()} bytes are held at the end`)
    }),
    { numRuns: 40 },
  )
  t.ok(seen.written > 200 && seen.looked > 40, `${seen.written} pictures were written, ${seen.looked} looked at`)
})

t.test('every picture of a camera is written once and in order, from memory that is used again', async (t) => {
  const { memory, usedBytes } = watched(createStreamMemory(1e9, 1e9))
  const one = cameraOf(memory)
  for (let at = 0; at < 240; at++) {
    one.send(at % 30 === 0, at % 30 === 0 ? 90_000 : 15_000)
    if (at % 30 === 5) one.write()
  }
  one.stream.onEnded()
  one.write()
  t.same(
    one.written,
    Array.from({ length: 240 }, (_, at) => at + 1),
  )
  t.equal(usedBytes(), 0)
})
