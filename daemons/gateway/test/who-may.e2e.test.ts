import { once } from 'node:events'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { password, type RunningGateway, startGateway } from './running-gateway.ts'
import { callers, type Outcome, socketRow, socketSource, type Who, whoMay } from './who-may.ts'

type Tokens = Record<Who, string | null>

/** One gateway with two ports, and every kind of caller. */
async function crowd(t: Test) {
  const gateway = await startGateway(t)
  const admin = await gateway.setUp()
  const [device, other] = [openPty(), openPty()]
  t.teardown(() => Promise.all([device.close(), other.close()]))
  for (const { path } of [device, other]) await gateway.call('PUT', gateway.portPath(path), { protocol: 'raw' })
  const key = async (name: string, facts: object) =>
    (await gateway.call('POST', '/api/keys', { name, role: 'admin', ...facts })).body.key as string
  // Long enough for a busy machine to make the key, and mostly over once the other callers are there.
  const expiredKey = await key('expired', { expiresAt: Date.now() + 1500 })
  await gateway.call('POST', '/api/users', { username: 'viewer', password, role: 'viewer' })
  const signIn = async () => (await gateway.call('POST', '/api/login', { username: 'viewer', password })).body.token
  const [viewer, deadToken] = [await signIn(), await signIn()]
  await gateway.call('POST', '/api/logout', undefined, deadToken)
  const tokens: Tokens = {
    nobody: null,
    viewer,
    admin,
    viewerKey: await key('viewer', { role: 'viewer' }),
    adminKey: await key('admin', {}),
    ownPortKey: await key('own', { ports: [device.path] }),
    ownPortViewerKey: await key('own viewer', { ports: [device.path], role: 'viewer' }),
    otherPortKey: await key('other', { ports: [other.path] }),
    expiredKey,
    deadToken,
  }
  await until(
    'the key expires',
    async () => (await gateway.call('GET', '/api/me', undefined, expiredKey)).status === 401,
  )
  return { gateway, tokens, device, other }
}

/**
 * A read is let in if it is not refused. A change has an unknown field: every route that lets it in answers 400 and does
 * nothing.
 */
async function knock(gateway: RunningGateway, route: string, path: string, token: string | null): Promise<Outcome> {
  const [method = ''] = route.split(' ')
  if (method === 'GET') return look(gateway, 'GET', path, token)
  const { status, body } = await gateway.call(method, path, { nonsense: 1 }, token)
  const isIn = status === 400 && body.error === 'bad_fields'
  return isIn ? 'in' : (`${status} ${body.error}` as Outcome)
}

/** The outcome of a read by its status, since some answers are files or never end; a HEAD has nothing else. */
async function look(gateway: RunningGateway, method: 'GET' | 'HEAD', path: string, token: string | null) {
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(`${gateway.url}${path}`, { method, headers })
  if (response.status !== 401 && response.status !== 403) {
    await response.body?.cancel()
    return 'in'
  }
  return `${response.status} ${method === 'GET' ? ((await response.json()) as { error: string }).error : ''}` as Outcome
}

type Crowd = Awaited<ReturnType<typeof crowd>>

t.test('A.authentication.1 A.authentication.3 each caller is let in where the document says', async (t) => {
  const all = await crowd(t)
  await t.test('every route lets in the callers that are allowed, and nobody else', (t) => everyRoute(t, all))
  await t.test('the WebSocket does the same, by header and by ticket', (t) => everySocket(t, all))
})

async function everyRoute(t: Test, { gateway, tokens, device }: Crowd): Promise<void> {
  const { body } = await gateway.call('GET', '/api/openapi.json')
  const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const listed = whoMay.map(([route]) => route)
  t.same(listed.toSorted(), described.sort(), 'each route has its row in who-may.ts, once')
  for (const [route, row, source] of whoMay) {
    const path = (route.split(' ')[1] ?? '')
      .replace('{path}', encodeURIComponent(device.path))
      .replaceAll(/\{\w+\}/g, 'unknown')
    const outcomes = await Promise.all(
      callers.map(async (who) => [who, await knock(gateway, route, path, tokens[who])]),
    )
    t.same(Object.fromEntries(outcomes), row, `${route} - ${source}`)
    if (!route.startsWith('GET ')) continue
    const heads = await Promise.all(callers.map((who) => look(gateway, 'HEAD', path, tokens[who])))
    const statuses = callers.map((who) => (row[who] === 'in' ? 'in' : `${row[who].slice(0, 3)} `))
    t.same(heads, statuses, `HEAD ${path} as its GET`)
  }
  t.equal((await gateway.call('GET', gateway.portPath(device.path))).body.configured, true, 'nothing was done')
}

/** `in` if the socket opens, else the refusal. */
async function dial(gateway: RunningGateway, query: string, token: string | null): Promise<Outcome> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws${query}`, { headers })
  socket.on('error', () => {})
  const opened = once(socket, 'open').then(() => 'in' as const)
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    const { error } = JSON.parse(String(Buffer.concat(await response.toArray())))
    return `${response.statusCode} ${error}` as Outcome
  })
  const outcome = await Promise.race([opened, refused])
  socket.terminate()
  return outcome
}

async function everySocket(t: Test, { gateway, tokens }: Crowd): Promise<void> {
  for (const who of callers) {
    t.equal(await dial(gateway, '', tokens[who]), socketRow[who], `${who} - ${socketSource}`)
    if (socketRow[who] !== 'in') continue
    const { body } = await gateway.call('POST', '/api/ticket', undefined, tokens[who])
    t.equal(await dial(gateway, `?ticket=${body.ticket}`, null), 'in', `${who} by ticket`)
    t.equal(await dial(gateway, `?ticket=${body.ticket}`, null), '401 unauthorized', 'once')
  }
}
