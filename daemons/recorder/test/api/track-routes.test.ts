import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { trackRoutes } from '../../api/track-routes.ts'
import type { MeasuredOffset, TrackPiece } from '../../core/sight/events.ts'
import { sightRows } from '../../core/sight/memory.ts'

const ann = { id: 'ann' }

function stage(pieces: () => Promise<TrackPiece[]>, offset?: MeasuredOffset) {
  const [tracks] = trackRoutes({
    callers: { accountOf: (caller: unknown) => caller },
    cameras: { require: () => ({ record: { id: 'yard' } }) },
    choice: { of: () => ({ trackOffsetMs: null }) },
    events: { waiting: () => [] },
    spans: () => [{ startAt: 0, endAt: 600_000 }],
    store: { pieces, offsetNear: async () => offset },
  } as never)
  return async (caller: object) => {
    const { signal } = new AbortController()
    const ask = { caller, params: { id: 'yard' }, query: { from: 0, to: 600_000 }, signal }
    const answer = await tracks?.handle(ask as never)
    return JSON.parse(String((answer as { body: Buffer }).body))
  }
}

t.test('one question for tracks is answered at a time, since each may be large, and accounts take turns', async (t) => {
  const bob = { id: 'bob' }
  const asked: PromiseWithResolvers<never[]>[] = []
  const ask = stage(() => {
    const answer = Promise.withResolvers<never[]>()
    asked.push(answer)
    return answer.promise
  })
  const over: string[] = []
  const named = (name: string, answer: Promise<unknown>) => answer.finally(() => over.push(name))
  const answers = [named('ann', ask(ann)), named('ann', ask(ann)), named('bob', ask(bob))]
  for (let at = 1; at <= 3; at++) {
    await new Promise(setImmediate)
    t.equal(asked.length, at, 'one answer at a time is held')
    asked.at(-1)?.resolve([])
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  }
  t.same(over, ['ann', 'bob', 'ann'], 'who asks for more has its turn after the others')
  t.match(await Promise.all(answers), [{ tracks: [] }, { tracks: [] }, { tracks: [] }])
})

t.test('A.tracks ten minutes of a full picture are answered whole, and others have their turn meanwhile', async (t) => {
  const [things, seconds, aSecond] = [32, 600, 5]
  const box: [number, number, number, number] = [0.1, 0.2, 0.3, 0.4]
  const piecesOf = (trackId: number, fromS: number): TrackPiece => ({
    ...{ cameraId: 'yard', trackId, label: fromS > 300 ? 'car' : 'other' },
    sightings: Array.from({ length: 5 * aSecond }, (_, at) => ({ at: fromS * 1000 + at * 200, score: 0.5, box })),
  })
  const pieces = Array.from({ length: seconds / 5 }, (_, at) =>
    Array.from({ length: things }, (_, thing) => piecesOf(thing + 1, at * 5)),
  ).flat()
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  const { tracks } = await stage(async () => pieces)(ann)
  clearInterval(counting)
  t.equal(tracks.length, things)
  for (const { boxes, group, label } of tracks) {
    t.same([boxes.length, label, group], [seconds * aSecond, 'car', 'vehicle'], 'what it was taken for last')
    t.match([boxes[0], boxes.at(-1)], [{ at: 0, score: 0.5, box }, { at: 599_800 }])
  }
  t.ok(turns >= 20, `others had ${turns} turns`)
})

t.test('an answer of ten minutes takes no more memory than the plan says', async (t) => {
  const things = 4
  const bytes = await heapBytesOf(async () => {
    const pieces = Array.from({ length: things * 120 }, (_, at): TrackPiece => {
      const fromAt = Math.floor(at / things) * 5000
      const sightings = Array.from({ length: 25 }, (__, one) => {
        const side = (one % 9) / 10
        return { at: fromAt + one * 200, score: 0.5 + side / 10, box: [side, 0.1234, side + 0.1, 0.4567] as const }
      })
      return { cameraId: 'yard', trackId: (at % things) + 1, label: 'car', sightings }
    })
    return [pieces, await stage(async () => pieces)(ann)]
  })
  const row = rowOf(sightRows(), 'an answer of tracks', { 'detector.tracks': things })
  // As it was kept, and as it is told; and their text, which is longer than this.
  t.ok(bytes > row.allBytes / 3 && bytes + 2 * 100 * things * 3000 <= row.allBytes, `${bytes} of ${row.allBytes}`)
})

t.test('a track whose number comes again after a long pause is another one', async (t) => {
  const sighting = (at: number) => ({ at, score: 1, box: [0, 0, 1, 1] as const })
  const piece = (...at: number[]) => ({ cameraId: 'yard', trackId: 1, label: 'dog', sightings: at.map(sighting) })
  const { tracks } = await stage(async () => [piece(1000, 2000), piece(7000), piece(200_000), piece(700_000)])(ann)
  t.match(tracks, [{ boxes: [{ at: 1000 }, { at: 2000 }, { at: 7000 }] }, { boxes: [{ at: 200_000 }] }])
  t.equal(tracks.length, 2, 'and one behind the footage is none')
})

t.test('A.tracks boxes are moved by what was measured nearest, and by nothing where nothing could be', async (t) => {
  const piece = {
    cameraId: 'yard',
    trackId: 1,
    label: 'dog',
    sightings: [{ at: 1000, score: 1, box: [0, 0, 1, 1] as const }],
  }
  t.match(await stage(async () => [piece], { offsetMs: 240, at: 77 })(ann), {
    ...{ offsetMs: 240, offsetMode: 'auto', offsetMeasuredAt: 77, tracks: [{ boxes: [{ at: 1240 }] }] },
  })
  t.match(await stage(async () => [piece])(ann), { offsetMs: 0, offsetMode: 'auto', offsetMeasuredAt: null })
})
