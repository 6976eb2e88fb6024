/** Tests of api/footage-routes.ts: a window of a month holds nobody up. */
import t from 'tap'
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
