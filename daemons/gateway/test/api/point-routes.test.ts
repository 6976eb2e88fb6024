import t from 'tap'
import { serve } from '#kit/test/http/server-here.ts'
import { faultStatus } from '../../api/fault-status.ts'
import { pointRoutes } from '../../api/point-routes.ts'
import { pointRevision } from '../../core/points/definition.ts'
import { bookOf } from '../core/points/point-fixtures.ts'
import { point } from '../core/points/points.ts'

type Call = [method: string, path: string, json?: unknown, ifMatch?: string]

async function servePoints(t: Parameters<typeof serve>[0], setup: Parameters<typeof bookOf>[0] = {}) {
  const told: unknown[] = []
  const { book, kept } = bookOf(setup)
  const recorder = { changed: async (_asker: unknown, ...entry: unknown[]) => void told.push(entry) }
  const routes = pointRoutes({ book, recorder, maxPoints: setup.limits?.max ?? 10 })
  const { ask } = await serve(t, { routes, faultStatus })
  const as = async (role: string | undefined, ...[method, path, json, ifMatch]: Call) => {
    const headers = new Headers(ifMatch === undefined ? {} : { 'if-match': ifMatch })
    const reply = await ask(path, { method, ...(role && { as: role }), json, headers })
    const text = await reply.text()
    const etag = reply.headers.get('etag')
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text), ...(etag && { etag }) }
  }
  const asAdmin = (...call: Call) => as('admin', ...call)
  return { as, asAdmin, kept, told }
}

const here = '/api/ports/bus/points'
const plain = { name: 'a', unitId: 1, fc: 3, address: 0, type: 'u16' }

t.test('A.points a table is put, listed, changed, added to and removed from', async (t) => {
  const { asAdmin, told } = await servePoints(t)
  const { revision, ...empty } = (await asAdmin('GET', here)).body
  t.match(revision, /^[0-9a-f]{14}$/)
  t.same(empty, {
    points: [],
    polling: { reads: 0, pointsPerRead: null, periodSlipMs: null, overruns: 0 },
  })
  const put = await asAdmin('PUT', here, { points: [plain] })
  t.equal(put.status, 200)
  const asRead = {
    revision: pointRevision(point('a', { pollMs: 10_000 })),
    value: null,
    text: null,
    quality: 'unknown',
    ageMs: null,
    changedAt: null,
    readAt: null,
    fault: null,
  }
  t.same(put.body.points, [{ ...point('a', { pollMs: 10_000 }), ...asRead }])
  const added = await asAdmin('POST', here, { template: 'meter', unitId: 7, prefix: 'cellar ' })
  t.match(added, { status: 201, body: { points: [{ name: 'a' }, { name: 'cellar volts', unitId: 7 }, {}] } })
  t.match(await asAdmin('PATCH', `${here}/cellar%20volts`, { deadband: 2, unit: null }), {
    status: 200,
    body: { name: 'cellar volts', deadband: 2, unit: null, pollMs: 5000 },
  })
  t.equal((await asAdmin('PATCH', `${here}/a`, { name: 'b' })).status, 200)
  t.same(await asAdmin('DELETE', `${here}/b`), { status: 204, body: undefined })
  t.match((await asAdmin('GET', here)).body.points, [{ name: 'cellar volts' }, { name: 'cellar amperes' }])
  t.same(told, [
    ['points replaced', 'bus', { points: 1 }],
    ['points added', 'bus', { template: 'meter', unitId: 7, prefix: 'cellar ' }],
    ['point changed', 'bus', { name: 'cellar volts', deadband: 2, unit: null }],
    ['point changed', 'bus', { name: 'a', newName: 'b' }],
    ['point removed', 'bus', { name: 'b' }],
  ])
})

t.test('A.points one point is added under its name, at its place', async (t) => {
  const { asAdmin, told } = await servePoints(t)
  const { name: _name, ...rest } = plain
  t.match(await asAdmin('POST', `${here}/a`, rest), { status: 201, body: { name: 'a', pollMs: 10_000 } })
  t.match(await asAdmin('POST', `${here}/b?at=0`, rest), { status: 201, body: { name: 'b' } })
  t.match((await asAdmin('GET', here)).body.points, [{ name: 'b' }, { name: 'a' }])
  t.match(await asAdmin('POST', `${here}/a`, rest), { status: 409, body: { error: 'point_exists' } })
  t.match(await asAdmin('POST', `${here}/c`, { ...rest, scale: 0 }), { body: { fields: [{ field: 'scale' }] } })
  t.match(told[0], ['point added', 'bus', { name: 'a', unitId: 1 }])
})

t.test('all faults of a table are reported at once, each by the path of its field', async (t) => {
  const { asAdmin, kept } = await servePoints(t)
  const shape = await asAdmin('PUT', here, {
    points: [plain, { ...plain, name: '', address: 70_000, typ: 'u16' }, { ...plain, unitId: 0, fc: 5 }],
  })
  t.match(shape, { status: 400, body: { error: 'bad_fields' } })
  t.strictSame(shape.body.fields.map(({ field }: { field: string }) => field).sort(), [
    'points[1].address',
    'points[1].name',
    'points[1].typ',
    'points[2].fc',
    'points[2].unitId',
  ])
  const together = await asAdmin('PUT', here, {
    points: [
      { ...plain, type: 'f64', address: 65_533 },
      { ...plain, fc: 1 },
    ],
  })
  t.strictSame(together.body.fields.map(({ field }: { field: string }) => field).sort(), [
    'points[0].address',
    'points[1].name',
    'points[1].type',
  ])
  const mixed = await asAdmin('PUT', here, {
    points: [plain, { ...plain, fc: 5, type: 'bit' }, { ...plain, scale: 0 }, { ...plain, name: 'b', bit: 3 }],
  })
  t.strictSame(mixed.body.fields.map(({ field }: { field: string }) => field).sort(), [
    'points[1].fc',
    'points[2].name',
    'points[2].scale',
    'points[3].bit',
  ])
  for (const points of ['none', { length: 1 }, [null, 1, plain]])
    t.match(await asAdmin('PUT', here, { points }), { status: 400, body: { error: 'bad_fields' } })
  t.match(await asAdmin('PUT', here, []), { status: 400, body: { error: 'bad_fields' } })
  t.same(kept.get('bus'), [])
})

t.test('a point that is missing, exists already or cannot be has a status that says so', async (t) => {
  const { asAdmin } = await servePoints(t, { limits: { max: 3, total: 20 } })
  const status = async (method: string, path: string, json?: unknown) => {
    const { status, body } = await asAdmin(method, path, json)
    return `${status} ${body.error}`
  }
  await asAdmin('POST', here, { template: 'meter', unitId: 7 })
  t.equal(await status('POST', here, { template: 'meter', unitId: 8 }), '409 point_exists')
  t.equal(await status('POST', here, { template: 'meter', unitId: 8, prefix: 'b ' }), '409 too_many_points')
  t.equal(await status('POST', here, { template: 'nothing', unitId: 8 }), '404 unknown_template')
  t.equal(await status('POST', here, { template: 'meter' }), '400 bad_fields')
  t.equal(await status('PATCH', `${here}/none`, { scale: 2 }), '404 unknown_point')
  t.equal(await status('PATCH', `${here}/volts`, { scale: 0 }), '400 bad_fields')
  t.equal(await status('PATCH', `${here}/volts`, { name: 'amperes' }), '409 point_exists')
  t.equal(await status('PATCH', `${here}/volts`, { sclae: 2 }), '400 bad_fields')
  t.equal(await status('DELETE', `${here}/none`), '404 unknown_point')
  t.equal(await status('GET', '/api/ports/raw/points'), '409 wrong_protocol')
  t.equal(await status('GET', '/api/ports/none/points'), '404 unknown_port')
})

t.test('a table as large as points.max allows is accepted, though it is larger than other bodies', async (t) => {
  const { asAdmin } = await servePoints(t, { limits: { max: 500, total: 600 } })
  const points = Array.from({ length: 500 }, (_, address) => ({
    ...plain,
    address,
    name: `${address}`.padStart(64, 'x'),
    wordOrder: 'big',
    byteOrder: 'big',
    bit: null,
    length: null,
    unit: 'kilowatt hours',
    template: 'maker-and-model',
  }))
  t.ok(JSON.stringify({ points }).length > 65_536)
  t.equal((await asAdmin('PUT', here, { points })).status, 200)
})

t.test('A.authentication.3 everybody signed in reads, only administrators change', async (t) => {
  const { as } = await servePoints(t)
  const calls = [
    ['GET', here],
    ['PUT', here, { points: [] }],
    ['POST', here, { template: 'meter', unitId: 1 }],
    ['PATCH', `${here}/volts`, {}],
    ['DELETE', `${here}/volts`],
  ] as const
  for (const [method, path, json] of calls) {
    t.equal((await as(undefined, method, path, json)).status, 401, `${method} by nobody`)
    t.equal((await as('viewer', method, path, json)).status, method === 'GET' ? 200 : 403, `${method} by a viewer`)
  }
})

t.test(
  'when two people change a table at once, the later one is refused by the ETag it read, and nothing is lost',
  async (t) => {
    const { asAdmin, told } = await servePoints(t)
    const { etag, body } = await asAdmin('PUT', here, { points: [plain] })
    t.equal(etag, `"${body.revision}"`)
    t.equal((await asAdmin('GET', here)).etag, etag, 'until something is changed')
    const theirs = await asAdmin('PUT', here, { points: [plain, { ...plain, name: 'theirs' }] }, etag)
    t.equal(theirs.status, 200)
    told.length = 0
    const mine = await asAdmin('PUT', here, { points: [{ ...plain, name: 'mine' }] }, etag)
    t.match(mine, { status: 412, body: { error: 'changed_meanwhile', revision: theirs.body.revision } })
    t.match(mine.body.message, /^It was changed meanwhile, so nothing of yours was saved\. Read it again/)
    t.match((await asAdmin('GET', here)).body.points, [{ name: 'a' }, { name: 'theirs' }])
    t.same(told, [], 'the journal records no change')
    const again = await asAdmin('PUT', here, { points: [{ ...plain, name: 'mine' }] }, theirs.etag)
    t.match(again, { status: 200, body: { points: [{ name: 'mine' }] } })
    t.equal((await asAdmin('PUT', here, { points: [] })).status, 200, 'without If-Match everything is replaced')
  },
)

t.test('of two changes at the very same moment one is refused', async (t) => {
  const { asAdmin } = await servePoints(t, { saving: () => new Promise((resolve) => setImmediate(resolve)) })
  const { etag } = await asAdmin('GET', here)
  const both = ['one', 'other'].map((name) => asAdmin('PUT', here, { points: [{ ...plain, name }] }, etag))
  t.same((await Promise.all(both)).map(({ status }) => status).sort(), [200, 412])
})

t.test('a point is changed or removed by its own ETag, whatever happened to its neighbours', async (t) => {
  const { asAdmin } = await servePoints(t)
  const { body } = await asAdmin('PUT', here, { points: [plain, { ...plain, name: 'b' }] })
  const [a, b] = body.points.map(({ revision }: { revision: string }) => `"${revision}"`)
  const changed = await asAdmin('PATCH', `${here}/a`, { pollMs: 500 }, a)
  t.match(changed, { status: 200, etag: `"${changed.body.revision}"` })
  t.match(await asAdmin('PATCH', `${here}/a`, { deadband: 3 }, a), {
    status: 412,
    body: { error: 'changed_meanwhile' },
  })
  t.equal((await asAdmin('DELETE', `${here}/a`, undefined, a)).status, 412)
  t.match((await asAdmin('GET', here)).body.points[0], { pollMs: 500, deadband: 0 })
  t.equal((await asAdmin('PATCH', `${here}/b`, { pollMs: 700 }, b)).status, 200)
  t.equal((await asAdmin('DELETE', `${here}/b`, undefined, '*')).status, 204)
  t.equal((await asAdmin('DELETE', `${here}/a`, undefined, `"other", ${changed.etag}`)).status, 204)
})
