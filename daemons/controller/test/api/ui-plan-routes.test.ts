/** Tests of api/ui-plan-routes.ts, and of favourites in api/ui-zone-routes.ts. */
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { hugePng, png } from '#kit/test/pictures.ts'
import { harbourHouse } from '../harbour-house.ts'
import { serveUi, type Visitor } from '../ui-server.ts'

interface Sent {
  status: number
  body: Record<string, unknown>
  headers: Headers
  bytes: Buffer
}

async function here(t: Test) {
  const house = harbourHouse()
  const { visitor, url } = await serveUi(t, house)
  const enter = async (username: string) => {
    const { password, code } = house.people.get(username) ?? {}
    const browser = visitor()
    await browser.call('POST', '/ui/sign-in', { username, password, two_factor_token: code })
    return browser
  }
  /** As it is, with the cookies of a browser; answers may be pictures. */
  const raw = async (by: Visitor | undefined, path: string, body?: Uint8Array, more = {}): Promise<Sent> => {
    const cookie = [...(by?.cookies ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { origin: url, ...(cookie ? { cookie } : {}), ...more }
    const init = body ? { method: 'POST', body: Buffer.from(body), headers } : { headers }
    const reply = await fetch(url + path, init)
    const bytes = Buffer.from(await reply.arrayBuffer())
    const isJson = reply.headers.get('content-type')?.startsWith('application/json')
    return { status: reply.status, body: isJson ? JSON.parse(bytes.toString()) : {}, headers: reply.headers, bytes }
  }
  return { house, url, raw, sam: await enter('sam'), ada: await enter('ada') }
}

type Here = Awaited<ReturnType<typeof here>>

/** A plan with zones of ada, and of others. */
async function withPlan(t: Test) {
  const stage = await here(t)
  const picture = (await stage.raw(stage.sam, '/ui/plan/picture', png(40, 30))).body as { name: string }
  stage.house.change('ui', [{ id: 1, name: 'Phones' }])
  stage.house.change('ui_widget', [{ id: 1, name: 'Zone on a plan', type: 'plan_zone' }])
  show(stage, picture.name, [1, 5])
  return { ...stage, picture }
}

function show({ house }: Pick<Here, 'house'>, picture: string, zones: readonly number[], uiId = 1): void {
  const plan = { picture, width: 40, height: 30 }
  house.change('ui_page_ui', [{ id: 1, ui_id: uiId, name: 'Ground floor', layout: { plan } }])
  house.change(
    'ui_page_widget',
    zones.map((zone_id, at) => ({ id: at + 1, page_id: 1, widget_id: 1, zone_id, x: 100 * at, y: 500 })),
  )
}

t.test('a picture is kept for elevated sessions, and given to whom its plan is for, harmless', async (t) => {
  const { raw, sam, ada, picture } = await withPlan(t)
  t.match(picture, { name: /^[0-9a-f]{64}\.png$/, width: 40, height: 30 })
  const seen = await raw(ada, '/ui/plan/picture?plan=1&v=abc')
  t.equal(seen.status, 200)
  t.same(seen.bytes, png(40, 30))
  const head = Object.fromEntries(seen.headers)
  t.match(head, {
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'content-security-policy': /default-src 'none'; sandbox/,
    'cache-control': 'private, no-cache',
  })
  const etag = String(seen.headers.get('etag'))
  const again = await raw(ada, '/ui/plan/picture?plan=1', undefined, { 'if-none-match': etag })
  t.same([again.status, again.bytes.length], [304, 0])
  t.equal((await raw(sam, `/ui/plan/picture?name=${picture.name}`)).status, 200)
})

t.test('to whom a plan is not for, it is like one that there is not', async (t) => {
  const stage = await withPlan(t)
  const { raw, ada, picture, house } = stage
  const none = await raw(ada, '/ui/plan/picture?plan=77')
  t.match(none, { status: 404, body: { error: 'plan_unknown' } })
  const asNone = async (path: string, why: string) => {
    const told = await raw(ada, path, undefined, { 'if-none-match': `"${picture.name}"` })
    t.same([told.status, told.body], [none.status, none.body], why)
  }
  await asNone(`/ui/plan/picture?name=${picture.name}`, 'by name only with Elevated on')
  show(stage, picture.name, [5, 6])
  await asNone('/ui/plan/picture?plan=1', 'none of its zones is hers')
  show(stage, picture.name, [1], 2)
  await asNone('/ui/plan/picture?plan=1', 'a UI that her roles do not allow')
  show(stage, '../controller.db', [1])
  await asNone('/ui/plan/picture?plan=1', 'a name that is no picture')
  show(stage, picture.name, [1])
  house.pictures.clear()
  await asNone('/ui/plan/picture?plan=1', 'the file is gone')
  t.match(await raw(undefined, '/ui/plan/picture?plan=1'), { status: 401 })
})

t.test('the list of zones has the plans of a person, and nothing of others on them', async (t) => {
  const stage = await withPlan(t)
  const zones = async () => (await stage.ada.call('GET', '/ui/zones')).body
  t.match(await zones(), { plans: [{ id: 1, name: 'Ground floor', zones: [{ zone_id: 1, x: 0, y: 500 }] }] })
  const before = { ...(await zones()), now: 0 }
  show(stage, stage.picture.name, [1, 5, 6, 8])
  t.same({ ...(await zones()), now: 0 }, before, 'three zones of others more on it')
})

t.test('a body that is no picture, or too large, is refused with the reason and kept nowhere', async (t) => {
  const { raw, sam, ada, house } = await here(t)
  const refused = async (body: Uint8Array) => raw(sam, '/ui/plan/picture', body)
  t.match(await refused(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')), {
    status: 422,
    body: { error: 'picture_refused', message: /may run scripts/ },
  })
  t.match(await refused(hugePng(60_000, 60_000)), {
    status: 422,
    body: { error: 'picture_large', message: /60000 by/ },
  })
  t.match(await refused(png(40, 30).subarray(0, 60)), { status: 422, body: { error: 'picture_refused' } })
  t.match(await refused(Buffer.alloc(200_001)), { status: 413, body: { error: 'body_too_large' } })
  t.match(await raw(sam, '/ui/plan/picture', new Uint8Array(1)), { status: 422 })
  t.match(await raw(ada, '/ui/plan/picture', png(2, 2)), { status: 403, body: { error: 'not_elevated' } })
  t.match(await raw(undefined, '/ui/plan/picture', png(2, 2)), { status: 401 })
  t.match(await raw(sam, '/ui/plan/picture', png(2, 2), { origin: 'http://elsewhere.example' }), { status: 403 })
  t.equal(house.pictures.size, 0)
  t.match(house.records.find(({ status }) => status === 422) ?? {}, { path: '/ui/plan/picture', username: 'sam' })
})

t.test('one picture is taken at a time, and a sender who stops makes room', async (t) => {
  const { url, raw, sam } = await here(t)
  const { hostname, port } = new URL(url)
  const cookie = [...sam.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const slow = connect(Number(port), hostname)
  const head = [`POST /ui/plan/picture HTTP/1.1`, `Host: ${hostname}:${port}`, `Origin: ${url}`, `Cookie: ${cookie}`]
  slow.write(`${head.join('\r\n')}\r\nContent-Length: 1000\r\n\r\nabc`)
  const send = () => raw(sam, '/ui/plan/picture', png(2, 2))
  let told = await send()
  while (told.status === 200) told = await send()
  t.match(told, { status: 503, body: { error: 'busy' } })
  slow.destroy()
  while (told.status !== 200) told = await send()
  t.equal(told.status, 200)
})

t.test('plans are made and removed by elevated sessions, for Apply All', async (t) => {
  const { house, sam, ada, picture } = await withPlan(t)
  const { body } = await sam.call('GET', '/ui/plans')
  t.match(body, {
    plans: [{ id: 1, name: 'Ground floor', ui_id: 1, picture: { name: picture.name }, pending: null }],
    uis: [{ id: 1, name: 'Phones' }],
  })
  t.equal((body.zones as unknown[]).length, 8)
  const plan = { name: 'First floor', ui_id: 1, picture: { width: 40, height: 30, ...picture }, zones: [] }
  t.match(await sam.call('PUT', '/ui/plans', plan), { status: 200, body: { success: true, pending: 1 } })
  t.match(house.written.at(-1), { by: 'sam', rows: { ui_page_ui: [{ id: 2, name: 'First floor' }] } })
  t.match(await sam.call('POST', '/ui/plans/remove', { id: 1 }), { status: 200 })
  t.match(house.written.at(-1), { remove: { ui_page_ui: [1], ui_page_widget: [1, 2] } })
  const [seen] = body.plans as object[]
  const changed = { ...seen, name: 'Cellar' }
  const { pending: _p, ...again } = changed as Record<string, unknown>
  t.match(await sam.call('PUT', '/ui/plans', { ...again, seen }), { status: 200 })
  t.match(await sam.call('PUT', '/ui/plans', { ...again, seen: changed }), {
    status: 409,
    body: { error: 'plan_overtaken' },
  })
  const count = house.written.length
  for (const [wrong, status] of [
    [{ ...plan, picture: { ...plan.picture, name: `${'0'.repeat(64)}.png` } }, 400],
    [{ ...plan, zones: [{ zone_id: 1, x: 1001, y: 0 }] }, 400],
    [{ ...plan, zones: [{ zone_id: 1, x: 1, y: 0, z: 1 }] }, 400],
    [{ ...plan, name: '' }, 400],
    [{ ...plan, id: 99 }, 404],
  ] as const)
    t.equal((await sam.call('PUT', '/ui/plans', wrong)).status, status)
  t.equal((await sam.call('POST', '/ui/plans/remove', { id: 9 })).status, 404)
  for (const [method, path, sent] of [
    ['GET', '/ui/plans', undefined],
    ['PUT', '/ui/plans', plan],
    ['POST', '/ui/plans/remove', { id: 1 }],
  ] as const)
    t.match(await ada.call(method, path, sent), { status: 403, body: { error: 'not_elevated' } })
  t.equal(house.written.length, count)
})

t.test('a person chooses favourites among what is on the page, and sees the own ones', async (t) => {
  const { ada, sam } = await here(t)
  const choose = (by: Visitor, wish: object) => by.call('PUT', '/ui/favourite', wish)
  const own = async (by: Visitor) => (await by.call('GET', '/ui/zones')).body.favourites
  t.match(await choose(ada, { zone_id: 3, favourite: true }), { status: 200, body: { success: true } })
  t.match(await choose(ada, { macro_id: 5, favourite: true }), { status: 200 })
  t.same(await own(ada), { zones: [3], macros: [5] })
  t.same(await own(sam), { zones: [], macros: [] })
  const beyond = await choose(ada, { zone_id: 5, favourite: true })
  const none = await choose(ada, { zone_id: 555, favourite: true })
  t.match(beyond, { status: 400, body: { error: 'bad_fields' } })
  t.same(beyond.body, none.body, 'what is not hers is like what there is not')
  t.equal((await choose(ada, { macro_id: 6, favourite: true })).status, 400, 'an elevated macro')
  for (const wish of [{}, { zone_id: 1, macro_id: 5, favourite: true }, { zone_id: 1, favourite: 'yes' }])
    t.equal((await choose(ada, wish)).status, 400)
  t.match(await choose(ada, { zone_id: 1, favourite: true }), { status: 200 })
  t.match(await choose(ada, { zone_id: 2, favourite: true }), { status: 409, body: { error: 'favourites_full' } })
  t.match(await choose(ada, { zone_id: 3, favourite: false }), { status: 200 })
  t.same(await own(ada), { zones: [1], macros: [5] })
})
