/** Tests of api/hook-routes.ts: how many calls of webhooks are taken, of whom, and how long they may be. */
import { Readable } from 'node:stream'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Ask, Route, Upload } from '#kit/http/route.ts'
import { webhookSignature } from '#kit/net/signature.ts'
import { hookRoutes } from '../../api/hook-routes.ts'
import type { AuditRecord } from '../../core/audit.ts'

const SECRET = 'sixteen letters!'

function stage(hookCalls = 3, hookNetworks = 16) {
  const clock = fakeClock()
  const records: AuditRecord[] = []
  const started: unknown[] = []
  let refused: string | undefined
  const [route] = hookRoutes({
    hooks: {
      hook: (named) => (named === 'bell' ? { id: 7, secret: SECRET } : undefined),
      called(_, fields) {
        if (refused === undefined) started.push(fields)
        return refused
      },
    },
    audit: { add: async (record) => void records.push(record) },
    clock,
    originOf: ({ remoteAddress }) => ({ clientIp: remoteAddress, isRemote: false, isLocal: true }),
    limits: { hookBytes: 1000, hookCalls, hookNetworks },
  })
  function refuse(sentence: string): void {
    refused = sentence
  }
  async function call(remoteAddress: string, text = '{}'): Promise<unknown> {
    const body: Upload = { lengthBytes: undefined, stream: Readable.from([Buffer.from(text)], { objectMode: false }) }
    const headers = { 'x-svc-signature': webhookSignature(Buffer.from(text), SECRET) }
    const { handle } = route as Route & { handle(ask: Partial<Ask<Upload>>): Promise<{ status: number }> }
    try {
      return (await handle({ body, headers, params: { trigger: 'bell' }, remoteAddress })).status
    } catch (fault) {
      return (fault as { code?: string }).code
    }
  }
  return { call, clock, records, route, started, refuse }
}

t.test('calls of one network are counted together, for a minute', async (t) => {
  const { call, clock, records } = stage()
  for (let n = 0; n < 3; n++) t.equal(await call('10.0.0.1'), 202)
  t.equal(await call('10.0.0.1'), 'slow_down')
  t.equal(await call('10.0.0.2'), 202)
  t.same(
    [await call('2001:db8::1'), await call('2001:db8::2'), await call('2001:db8::3'), await call('2001:db8::4')].at(-1),
    'slow_down',
  )
  clock.advance(60_000)
  t.equal(await call('10.0.0.1'), 202)
  t.match(records[3], { requestType: 'hook', status: 429, granted: false, reason: 'busy', path: '/hooks/bell' })
})

t.test('so many networks are counted, and the oldest is forgotten', async (t) => {
  const { call } = stage(1, 2)
  for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) t.equal(await call(address), 202)
  t.equal(await call('10.0.0.3'), 'slow_down')
  t.equal(await call('10.0.0.1'), 202)
})

t.test('a trigger that takes no more says so to its caller', async (t) => {
  const { call, refuse, started } = stage()
  t.equal(await call('10.0.0.1', '{"a": 1}'), 202)
  refuse('too often')
  t.equal(await call('10.0.0.1'), 'slow_down')
  t.same(started, [{ a: 1 }])
})

t.test('no body is longer than the setting', async (t) => {
  const { route } = stage()
  t.equal(route?.upload?.maxBytes, 1000)
  t.equal(route?.who, 'anyone')
})
