/** Tests of api/ui-zone-routes.ts and core/live/zones.ts. */
import t from 'tap'
import { type FakeHouse, refused } from '../fake-house.ts'
import { harbourHouse } from '../harbour-house.ts'
import { serveUi, type Visitor } from '../ui-server.ts'

async function here(t: { teardown(run: () => unknown): void }, who: 'ada' | 'sam' = 'ada') {
  const house = harbourHouse()
  const { url, visitor } = await serveUi(t, house)
  const browser = visitor()
  await signIn(house, browser, who)
  return { house, browser, url }
}

async function signIn(house: FakeHouse, browser: Visitor, username: string): Promise<void> {
  const { password, code } = house.people.get(username) ?? {}
  await browser.call('POST', '/ui/sign-in', { username, password, two_factor_token: code })
}

interface Zones {
  site: { name: string; time_zone: string }
  now: number
  groups: { name: string | null; zones: { id: number; verbs: string[]; refused: string | null }[] }[]
  macros: { id: number; name: string }[]
}

t.test('shows only the zones of the user, by room, and no column that pages do not need', async (t) => {
  const { browser } = await here(t)
  const { body } = await browser.call('GET', '/ui/zones')
  const { groups, site, now } = body as unknown as Zones
  t.same(
    groups.map(({ name, zones }) => [name, zones.map(({ id }) => id)]),
    [
      ['Bar', [2]],
      ['Lobby', [1, 3, 4]],
      [null, [7]],
    ],
  )
  t.match(site, { name: 'Harbour House', time_zone: 'Europe/Amsterdam' })
  t.ok(Math.abs(now - Date.now()) < 10_000)
  t.equal(groups[2]?.zones[0]?.refused, 'elevation')
  t.notOk(/never sent|no route|Boiler bus|device_id|hash/.test(JSON.stringify(body)))
})

t.test('lists the macros of the UIs that a role allows, and all of them for elevated sessions', async (t) => {
  const macros = ({ body }: { body: unknown }) => (body as Zones).macros.map(({ name }) => name)
  const { browser, house } = await here(t)
  t.same(macros(await browser.call('GET', '/ui/zones')), ['Close down'])
  house.change('ui_macro', [
    { id: 1, ui_id: 1, macro_id: 6, position: 1 },
    { id: 2, ui_id: 2, macro_id: 5, position: 1 },
  ])
  t.same(macros(await browser.call('GET', '/ui/zones')), [], 'neither elevated ones nor those of other UIs')
  Object.assign(house.people.get('sam') ?? {}, { code: undefined })
  await signIn(house, browser, 'sam')
  t.same(macros(await browser.call('GET', '/ui/zones')), ['Close down', 'Flush the pipes'])
  Object.assign(house.people.get('sam') ?? {}, { functions: ['command'] })
  t.same(macros(await browser.call('GET', '/ui/zones')), [], 'none if the role does not allow macros')
})

t.test(
  '1 POST /api/control/:action hands commands and macros to the rules as they came, and gives back their answer',
  async (t) => {
    const { browser, house } = await here(t)
    const body = { zone_id: 1, level: 40, args: { zone_id: 7 } }
    t.match(await browser.call('POST', '/ui/command', body), { status: 200, body: { success: true } })
    t.same(house.asked, [{ what: 'command', by: 'ada', body }])
    t.match(house.records[0], { path: '/ui/command', target: 'zone 1', granted: true, username: 'ada' })
    house.answers.push(refused(403, 'unauthorized', 'scope_denied'))
    t.match(await browser.call('POST', '/ui/command', { zone_id: 6, command: 'on' }), {
      status: 403,
      body: { error: 'unauthorized' },
    })
    t.match(house.records[0], { status: 403, reason: 'scope_denied', granted: false })
    house.answers.push({ status: 200, body: { text: '{"success":true,"run_id":9}' }, reason: null, runId: 9 })
    t.match(await browser.call('POST', '/ui/macro', { macro_id: 5 }), { status: 200, body: { run_id: 9 } })
    t.match(house.records[0], { path: '/ui/macro', runId: 9 })
  },
)

t.test('passes on bodies of any shape, and reaches no rule without a session', async (t) => {
  const { browser, house } = await here(t)
  for (const body of [null, [], 'on', 7, true]) await browser.call('POST', '/ui/command', body)
  t.same(
    house.asked.map(({ body }) => body),
    [null, [], 'on', 7, true],
  )
  browser.cookies.clear()
  t.equal((await browser.call('POST', '/ui/command', { zone_id: 1, command: 'on' })).status, 401)
  t.equal((await browser.call('POST', '/ui/macro', { macro_id: 5 })).status, 401)
  t.equal(house.asked.length, 5)
})

t.test('3A.still.jpg a picture is for who sees its zone, and an open page is recorded once', async (t) => {
  const { browser, house, url } = await here(t)
  const picture = Uint8Array.of(0xff, 0xd8, 0xff, 0xd9)
  for (const id of [1, 5, 7]) house.stills.set(id, picture)
  house.stills.set(2, 'There is no picture of this camera: its recorder is not connected.')
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const before = house.records.length
  const uses: unknown[] = []
  const { people } = house.parts
  const { sessionOf } = people
  people.sessionOf = (token, from, isUse) => {
    uses.push(isUse)
    return sessionOf(token, from, isUse)
  }
  for (let times = 0; times < 3; times++) {
    const reply = await fetch(`${url}/ui/zone/still?zone=1`, { headers: { cookie } })
    t.same(Buffer.from(await reply.arrayBuffer()), Buffer.from(picture))
    t.match(Object.fromEntries(reply.headers), {
      ...{ 'content-type': 'image/jpeg', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
      'content-security-policy': /sandbox/,
    })
  }
  for (let times = 0; times < 2; times++)
    t.match(await browser.call('GET', '/ui/zone/still?zone=2'), {
      status: 502,
      body: { error: 'still_failed', message: house.stills.get(2) },
    })
  t.equal(house.records.length - before, 2)
  t.same(new Set(uses), new Set([false]), 'an open page keeps no session alive')
  t.match(house.records.slice(0, 2), [
    { path: '/ui/zone/still', target: 'zone 2', status: 502, granted: false },
    { path: '/ui/zone/still', target: 'zone 1', status: 200, granted: true, username: 'ada' },
  ])
  for (const id of [3, 5, 7, 999])
    t.match(
      await browser.call('GET', `/ui/zone/still?zone=${id}`),
      { status: 404, body: { error: 'no_still' } },
      `${id}`,
    )
  for (const query of ['', '?zone=0', '?zone=a', '?zone=1&zone=5', '?zone=1&v=2'])
    t.equal((await browser.call('GET', `/ui/zone/still${query}`)).status, 400, query)
  browser.cookies.clear()
  t.equal((await browser.call('GET', '/ui/zone/still?zone=1')).status, 401)
})
