import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createEventBook, type EventPhase, type SightEvent, type TrackPiece } from '../../../core/sight/events.ts'
import { sightRows } from '../../../core/sight/memory.ts'
import type { Track } from '../../../core/sight/tracker.ts'

const CAMERA = '0000abcd'
const box = [0, 0, 0.5, 0.5] as const

function trackAt(at: number, more: Partial<Track> = {}): Track {
  const seen = { trackId: 1, label: 'person', group: 'person', score: 0.9, box } as const
  return { ...seen, firstAt: 1000, lastAt: at, best: { at: 1000, score: 0.9, box }, ...more }
}

function stage(queue = 100) {
  const clock = fakeClock()
  const written: { events: SightEvent[]; pieces: TrackPiece[] }[] = []
  const told: [string, EventPhase][] = []
  const faults: unknown[] = []
  const state = { isBroken: false }
  const book = createEventBook({
    ...{ clock, limits: { writeMs: 1000, queue } },
    store: {
      async put(events, pieces) {
        if (state.isBroken) throw new Error('no disk')
        written.push({ events: [...events], pieces: [...pieces] })
      },
    },
    onEvent: ({ label }, phase) => told.push([label, phase]),
    onFault: (fault) => faults.push(fault),
  })
  return { book, clock, faults, state, told, written }
}

t.test('an event begins and ends with its track, and the track is written in pieces', async (t) => {
  const { book, clock, told, written } = stage()
  const before = [1000, 1500].map((at) => ({ at, score: 0.9, box }))
  book.begin(CAMERA, trackAt(1500), before, 'motion')
  for (let at = 1500; at <= 8000; at += 500) book.seen(CAMERA, at, [trackAt(at)])
  t.match(book.present(`${CAMERA}-1000-1`), { endedAt: null, lastAt: 8000 })
  t.equal(
    book.waiting(CAMERA).flatMap(({ sightings }) => sightings).length,
    15,
    'all of it is there before it is written',
  )
  book.end(CAMERA, { trackId: 1 })
  t.same(told, [
    ['person', 'begin'],
    ['person', 'end'],
  ])
  t.equal(book.present(`${CAMERA}-1000-1`), undefined)
  t.match(book.unwritten(CAMERA), [{ id: `${CAMERA}-1000-1`, endedAt: 8000 }])
  clock.advance(1000)
  t.equal(book.unwritten(CAMERA).length, 1, 'until it is on the disk')
  t.same(book.unwritten('0000ffff'), [])
  await new Promise(setImmediate)
  t.same(book.unwritten(CAMERA), [])
  const [{ events, pieces } = { events: [], pieces: [] }] = written
  t.match(events, [{ id: `${CAMERA}-1000-1`, beganAt: 1000, endedAt: 8000, group: 'person', source: 'motion' }])
  t.same(
    pieces.flatMap(({ sightings }) => sightings.map(({ at }) => at)),
    Array.from({ length: 15 }, (_, step) => 1000 + step * 500),
    'each picture once',
  )
})

t.test('what more pictures say better is told again, under the same id', async (t) => {
  const { book, told } = stage()
  book.begin(CAMERA, trackAt(1000, { label: 'other', group: 'other' }), [], 'external')
  book.seen(CAMERA, 2000, [trackAt(2000, { label: 'car', group: 'vehicle' })])
  t.match(book.present(`${CAMERA}-1000-1`), { label: 'car', group: 'vehicle' })
  book.endAll(CAMERA)
  t.same(told, [
    ['other', 'begin'],
    ['car', 'begin'],
    ['car', 'end'],
  ])
})

t.test('what a camera claims is an event without a box; a pulse begins and ends at once', async (t) => {
  const { book, told } = stage()
  book.claim({ cameraId: CAMERA, label: 'person', at: 10, phase: 'begin' })
  book.claim({ cameraId: CAMERA, label: 'person', at: 20, phase: 'begin' })
  book.claim({ cameraId: CAMERA, label: 'person', at: 30, phase: 'end' })
  book.claim({ cameraId: CAMERA, label: 'person', at: 40, phase: 'end' })
  book.claim({ cameraId: CAMERA, label: 'motion', at: 50, phase: 'pulse' })
  t.same(told, [
    ['person', 'begin'],
    ['person', 'end'],
    ['motion', 'begin'],
    ['motion', 'end'],
  ])
  for (let at = 0; at < 1000; at++) book.claim({ cameraId: CAMERA, label: `word ${at}`, at, phase: 'begin' })
  t.equal(told.length, 4 + 32, 'no more are open than the limit')
})

t.test('a disk that takes nothing is told, and no more waits for it than the queue holds', async (t) => {
  const { book, clock, faults, state } = stage(10)
  for (let at = 0; at < 50; at++) book.claim({ cameraId: CAMERA, label: 'motion', at, phase: 'pulse' })
  t.equal(book.lost(), 80, 'forty that began and ended')
  state.isBroken = true
  clock.advance(1000)
  await new Promise(setImmediate)
  t.match(faults, [{ message: 'no disk' }])
  t.equal(book.lost(), 90)
  state.isBroken = false
  await book.close()
  t.equal(faults.at(-1), undefined)
})

t.test('what waits takes what the memory plan says', async (t) => {
  const MANY = 1000
  const bytes = await heapBytesOf(() => {
    const { book } = stage(MANY)
    for (let number = 0; number < MANY; number++)
      book.claim({ cameraId: CAMERA, label: 'motion', at: number, phase: 'pulse' })
    return book
  })
  const row = rowOf(sightRows(), 'events and tracks that wait', { 'events.queue': MANY })
  t.ok(bytes <= row.allBytes, `${bytes} of ${row.allBytes}`)
})
