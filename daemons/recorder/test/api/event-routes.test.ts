import t from 'tap'
import { eventRoutes } from '../../api/event-routes.ts'

t.test('one account is answered one question for tracks at a time, since each may be large', async (t) => {
  const ann = { id: 'ann' }
  const bob = { id: 'bob' }
  const asked: PromiseWithResolvers<never[]>[] = []
  const parts = {
    callers: { accountOf: (caller: unknown) => caller },
    cameras: { require: () => ({ record: { id: 'yard' } }) },
    choice: { of: () => ({ trackOffsetMs: null }) },
    events: { waiting: () => [] },
    spans: () => [],
    store: {
      pieces() {
        const answer = Promise.withResolvers<never[]>()
        asked.push(answer)
        return answer.promise
      },
    },
  }
  const tracks = eventRoutes(parts as never).find(({ path }) => path === '/api/cameras/:id/tracks')
  const ask = (caller: object) => {
    const { signal } = new AbortController()
    return tracks?.handle({ caller, params: { id: 'yard' }, query: { from: 0, to: 1000 }, signal } as never)
  }
  const answers = [ask(ann), ask(ann), ask(bob)]
  await new Promise(setImmediate)
  t.equal(asked.length, 2, 'of ann one, and bob does not wait for her')
  for (const one of asked) one.resolve([])
  await answers[0]
  await new Promise(setImmediate)
  t.equal(asked.length, 3)
  asked[2]?.resolve([])
  t.match(await Promise.all(answers), [{ tracks: [] }, { tracks: [] }, { tracks: [] }])
})
