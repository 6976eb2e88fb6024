/** Tests of api/footage-routes.ts: a window of a month holds nobody up. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { Reply } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { footageRoutes } from '../../api/footage-routes.ts'

const DAY_MS = 86_400_000
const window = { from: 1_900_000_000_000, to: 1_900_000_000_000 + 31 * DAY_MS }

/** The route of every camera, over a footage that notes what it is asked for. */
function stage() {
  const account = { id: 'a', cameras: 'all', permissions: [] }
  const asked: { camera: string; days: number }[] = []
  const routes = footageRoutes({
    callers: { accountOf: () => account },
    cameras: { seenBy: () => ['one', 'two'].map((id) => ({ record: { id } })) },
    footage: {
      bounds: () => undefined,
      awaySpans: () => [],
      spans(camera: string, startAt: number, endAt: number) {
        asked.push({ camera, days: (endAt - startAt) / DAY_MS })
        return [{ startAt: startAt - 1000, endAt: endAt + 1000 }]
      },
    },
    extraction: {},
    mostS: 60,
  } as unknown as Parameters<typeof footageRoutes>[0])
  const route = routes.find(({ path }) => path === '/api/recordings/availability')
  const ask = (signal = new AbortController().signal) =>
    route?.handle({ query: window, signal } as unknown as Parameters<typeof route.handle>[0])
  return { ask, asked }
}

t.test('A.Limits a month is read in pieces of at most four days, and told as one stretch', async (t) => {
  const { ask, asked } = stage()
  const ranges = [{ start: window.from, end: window.to }]
  t.match(await ask(), { cameras: { one: { ranges }, two: { ranges } } })
  t.equal(asked.length, 16)
  t.ok(asked.every(({ days }) => days <= 4))
})

t.test('one account reads one window at a time, and nothing more is read for a caller who has gone', async (t) => {
  const { ask, asked } = stage()
  const gone = new AbortController()
  const answers = [ask(), ask(gone.signal), ask()]
  gone.abort()
  await Promise.all(answers)
  t.equal(asked.length, 32)
  t.same(
    asked.map(({ camera }) => camera).join(' '),
    ['one', 'two', 'one', 'two'].flatMap((camera) => Array(8).fill(camera)).join(' '),
  )
})

t.test('playback takes its place before it opens a file, and gives it back where there is no footage', async (t) => {
  let [read, held, places] = [0, 0, 1]
  const account = { id: 'a', cameras: 'all', permissions: ['export'] }
  const routes = footageRoutes({
    callers: { accountOf: () => account },
    cameras: { require: () => ({ record: { id: 'one', masks: [] } }) },
    footage: {
      between() {
        read++
        return []
      },
    },
    extraction: {
      permit() {},
      hold() {
        if (places === 0) throw new Fault('too_many_streams', 'no more')
        held++
        return () => held--
      },
    },
    mostS: 60,
  } as unknown as Parameters<typeof footageRoutes>[0])
  const route = routes.find(({ path }) => path.endsWith('/playback.mp4'))
  const ask = async () => {
    const request = { params: { id: 'one' }, query: { start: window.from, duration: 60 } }
    await route?.handle(request as unknown as Parameters<typeof route.handle>[0])
  }
  await t.rejects(ask(), { code: 'no_footage' })
  t.same([read, held], [1, 0])
  places = 0
  await t.rejects(ask(), { code: 'too_many_streams' })
  t.equal(read, 1, 'nothing was read')
})

t.test('playback whose place another account needs is ended, also while its files are looked up', async (t) => {
  const account = { id: 'a', cameras: 'all', permissions: ['export'] }
  let [giveWay, held] = [(_: Fault) => {}, 0]
  const routes = footageRoutes({
    callers: { accountOf: () => account },
    cameras: { require: () => ({ record: { id: 'one', masks: [] } }) },
    footage: {
      between: () => [
        {
          startAt: window.from,
          endAt: window.to,
          fragments: [{ wallMs: window.from, durationTicks: 9e6, isKey: true }],
        },
      ],
      tracksOf: async () => ({ sets: {}, sound: undefined }),
      stream: () => new PassThrough(),
    },
    extraction: {
      permit() {},
      hold(_: unknown, end: typeof giveWay) {
        giveWay = end
        held++
        return () => held--
      },
      async note() {},
    },
    mostS: 60,
  } as unknown as Parameters<typeof footageRoutes>[0])
  const route = routes.find(({ path }) => path.endsWith('/playback.mp4'))
  const ask = async () => {
    const request = { params: { id: 'one' }, query: { start: window.from, duration: 60 } }
    return (await route?.handle(request as unknown as Parameters<typeof route.handle>[0])) as Reply
  }
  const { body } = await ask()
  t.equal(held, 1)
  const closed = once(body as PassThrough, 'close').catch((why) => why)
  giveWay(new Fault('too_many_streams', 'another'))
  t.match(await closed, { code: 'too_many_streams' })
  await new Promise(setImmediate)
  t.equal(held, 0)
  const late = ask()
  giveWay(new Fault('too_many_streams', 'another'))
  await t.rejects(late, { code: 'too_many_streams' })
  t.equal(held, 0)
})
