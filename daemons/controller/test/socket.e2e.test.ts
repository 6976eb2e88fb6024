/** The socket of the built controller: what several users hear and may, and clients that are slow or hostile. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite } from './rest-site.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'
import { type Client, dialSocket, type Heard } from './socket-client.ts'

const ALL_KINDS = { zones: true, devices: true, attributes: true, snapshot: true }

const planted = (client: Client) => JSON.stringify(client.heard).match(/Planted\w+/g) ?? []
const idsOf = (client: Client, kind: string) =>
  [
    ...new Set(client.heard.flatMap((message) => ((message[kind] ?? []) as { id: number }[]).map(({ id }) => id))),
  ].sort()

/** Rows of the usual site, with some roles changed. */
function rolesWith(rules: Record<string, string>): Record<string, unknown[]> {
  const roles = restRows(1).auth_role as { name: string; rules: string }[]
  return { auth_role: roles.map((role) => ({ ...role, rules: rules[role.name] ?? role.rules })) }
}

/** Somebody signed in over the socket. */
async function signedIn(t: { teardown(run: () => unknown): void }, site: RestSite, username: string) {
  const client = dialSocket(t, site)
  const { body } = await client.ask('login', { username, password: PASSWORD })
  if (typeof body.token !== 'string') throw new Error(`${username} was not signed in: ${JSON.stringify(body)}`)
  return client
}

t.test('what each user hears and may, and when that changes', async (t) => {
  const everything = 'allow api *\nallow ui *\nallow socket *'
  const site = await openRestSite(t, {
    rows: rolesWith({
      elevated: everything,
      open: 'allow ui *\nallow socket subscribe, set_attribute, write',
      'no-macro': 'allow api *\ndeny api macro\nallow ui *\ndeny socket query',
    }),
  })
  const [ada, olga, omar] = [
    await signedIn(t, site, 'ada'),
    await signedIn(t, site, 'olga'),
    await signedIn(t, site, 'omar'),
  ]

  await t.test('everybody hears what he may see, elevated sessions everything', async (t) => {
    for (const client of [ada, olga, omar]) t.equal((await client.ask('subscribe', ALL_KINDS)).status, 200)
    for (const client of [ada, olga, omar]) await client.next('attributes')
    t.strictSame(idsOf(ada, 'zones'), [1, 2, 3, 4, 5, 6])
    t.strictSame(idsOf(olga, 'zones'), [1, 3, 4, 5, 6], 'the zones of her UI')
    t.strictSame(idsOf(olga, 'devices'), [1, 2, 3, 4], 'and their devices')
    t.strictSame(idsOf(ada, 'attributes'), [1, 2, 3, 4, 5])
    t.strictSame(idsOf(olga, 'attributes'), [1, 2, 3, 5], 'but none that is secure')
    t.match(JSON.stringify(ada.heard), /w1/)
    for (const client of [olga, omar]) t.notMatch(JSON.stringify(client.heard), /w1|door now|"p"/, 'and no secret')
  })

  await t.test('no value that is set reaches anybody who may not see it', async (t) => {
    for (const [attribute_id, value] of [
      [3, 'PlantedWifi'],
      [4, 'PlantedDoor'],
      [5, JSON.stringify({ sftp: { password: 'PlantedBlob' }, host: 'open' })],
      [1, '41'],
    ])
      t.match(await ada.ask('set_attribute', { attribute_id, value }), { status: 200, body: { success: true } })
    const isLast = (message: Heard) => JSON.stringify(message.attributes).includes('"41"')
    for (const client of [ada, olga, omar]) await client.next('attributes', isLast)
    t.equal(new Set(planted(ada)).size, 3)
    for (const client of [olga, omar]) t.strictSame(planted(client), [])
    t.match((await site.get('/api/data/attribute?id=1', await site.tokenOf('olga'))).body, [
      { value: '41', previous_value: '40' },
    ])
  })

  await t.test('rules for the socket are their own', async (t) => {
    const nora = await signedIn(t, site, 'nora')
    t.match(await omar.ask('command', { body: { zone_id: 1, command: 'on' } }), {
      status: 403,
      body: { error: 'unauthorized' },
    })
    t.match(await olga.ask('command', { body: { zone_id: 1, command: 'on' } }), {
      status: 200,
      body: { success: true },
    })
    t.match(await nora.ask('query', { entity: 'zone' }), { status: 403 })
    t.equal((await site.get('/api/data/zone', await site.tokenOf('nora'))).status, 200, 'but over REST')
    t.match(await nora.ask('macro', { body: { macro_id: 1 } }), { status: 403 }, 'what REST denies')
    t.match(await olga.ask('set_attribute', { attribute_id: 1, value: 1 }), { status: 403 }, 'not named')
    t.match(await olga.ask('write', { rows: { zone: [{ id: 1, name: 'x' }] } }), { status: 403 })
    await until('the line has come', () => site.lines.length > 0)
    t.strictSame(site.lines, ['Z1 on {}'])
  })

  await t.test('gates are those of REST: elevation, scope, secrets', async (t) => {
    t.match(await olga.ask('command', { body: { zone_id: 2, command: 'on' } }), {
      status: 403,
      body: { error: 'unauthorized' },
    })
    t.match(await olga.ask('command', { body: { zone_id: 5, command: 'on' } }), { status: 403 }, 'elevated')
    t.match(await olga.ask('macro', { body: { macro_id: 2 } }), { status: 403 })
    t.match(await olga.ask('query', { entity: 'auth_user' }), { status: 403, body: { error: 'unauthorized' } })
    t.match(await olga.ask('query', { entity: 'device', query: 'password=x' }), {
      status: 400,
      body: { error: 'invalid query' },
    })
    t.match((await olga.ask('query', { entity: 'device', query: 'id=1&_fields=id,password' })).body, [
      { id: 1, password: null },
    ])
    const reasons = {
      4: 'secure_filtered',
      3: 'secure_filtered',
      99: 'scope_denied',
    }
    for (const [id, reason] of Object.entries(reasons)) {
      t.match(await omar.ask('set_attribute', { attribute_id: Number(id), value: 'x' }), {
        status: 403,
        body: { error: 'unauthorized' },
      })
      t.match(await lastRecord(site, 'set_attribute'), { reason, username: 'omar', granted: false })
    }
    t.match(await omar.ask('set_attribute', { name: 'level', zone_id: 4, value: 71 }), { status: 200 })
    t.match(await omar.ask('write', { rows: { zone: [{ id: 1, name: 'x' }] } }), { status: 403 })
    t.match(await lastRecord(site, 'write'), { reason: 'elevation_denied', request_type: 'socket', method: 'WS' })
  })

  await t.test('rows are written to what waits for Apply All, all of a message or none', async (t) => {
    t.match(await ada.ask('write', { rows: { zone: [{ id: 1, name: 'Foyer' }], ui: [{ name: 'New' }] } }), {
      body: { pending: 2 },
    })
    t.match(
      await ada.ask('write', { rows: { zone: [{ id: 1, max: 80 }], ui_zone: [{ ui_id: 'New', zone_id: 'Foyer' }] } }),
      {
        body: { pending: 3 },
      },
    )
    const wrong = await ada.ask('write', { rows: { zone: [{ id: 2, nam: 'x' }] }, remove: {} })
    t.match(wrong, { status: 400, body: { error: 'bad_fields', fields: [{ field: 'zone[0].nam' }] } })
    t.match(await ada.ask('write', { remove: { zone: [77] } }), {
      status: 400,
      body: { fields: [{ message: 'there is no zone 77' }] },
    })
    t.match(await ada.ask('write', { remove: { device: [2] } }), { status: 400 }, 'zones still belong to it')
    const seen = { zone: [{ id: 1, name: 'Hall', max: 80 }] }
    t.match(await ada.ask('write', { rows: { zone: [{ id: 1, name: 'Lobby' }] }, seen }), {
      status: 400,
      body: { error: 'bad_fields', fields: [{ field: 'zone[0].name', message: /^Somebody else/ }] },
    })
    t.match(await ada.ask('write', { rows: { zone: [{ id: 1, max: 80 }] }, seen }), { body: { pending: 3 } })
    t.match(await ada.ask('write', { remove: { credential: [1] } }), { body: { pending: 4 } })
    t.match(await ada.ask('write', { rows: { credential: [{ id: 1, name: 'half of it' }] } }), {
      status: 400,
      body: { fields: [{ field: 'credential[0].id', message: /removed by Apply All/ }] },
    })
    t.match(
      await ada.ask('query', { entity: 'zone', query: 'id=1' }),
      { body: [{ name: 'Hall' }] },
      'nothing is applied',
    )
    const from = olga.heard.length
    t.equal((await site.applyAll()).body.applied, 4)
    await olga.next('reload', () => true, from)
    t.match((await ada.ask('query', { entity: 'zone', query: 'id=1' })).body, [{ name: 'Foyer', max: 80 }])
  })

  await t.test('a scope that shrinks, a rule that goes and an account that ends are felt at once', async (t) => {
    const row = (await ada.ask('query', { entity: 'ui_zone', query: 'ui_id=1&zone_id=4' })).body[0]
    const from = olga.heard.length
    t.match(await ada.ask('write', { remove: { ui_zone: [row.id] } }), { status: 200 })
    await site.applyAll()
    await olga.next('reload', () => true, from)
    for (const [attribute_id, value] of [
      [2, 'PlantedAfter'],
      [1, '42'],
    ])
      t.match(await ada.ask('set_attribute', { attribute_id, value }), { status: 200 })
    await olga.next('attributes', (message) => JSON.stringify(message).includes('"42"'), from)
    t.strictSame(planted(olga), [])
    await site.stage({
      auth_role: [{ name: 'operator', rules: 'allow api *\nallow ui Ground\ndeny socket subscribe' }],
    })
    await site.applyAll()
    await olga.next('ended')
    t.equal((await olga.ask('me')).status, 200, 'the socket stays')
    await site.stage({ auth_user: [{ username: 'olga', enabled: false }] })
    t.strictSame(await olga.closed, [1008, 'signed out'])
    t.match(await ada.ask('me'), { status: 200 })
  })
})

/** The newest record of a kind of message. */
async function lastRecord(site: RestSite, type: string): Promise<unknown> {
  const query = `/api/data/request_history?path=/ws/${type}&_orderby=id=desc&_limit=1`
  return (await site.get(query, await site.tokenOf('ada'))).body[0]
}

t.test('sessions: tokens of either kind, where from, and how they end', async (t) => {
  const site = await openRestSite(t, { sets: ['socket.sign_in_ms=1000'] })
  const token = await site.tokenOf('olga')
  const client = dialSocket(t, site, { token })
  t.match(await client.ask('me'), { body: { username: 'olga', elevated: false } })
  await site.call('POST', '/api/logout', { token })
  t.strictSame(await client.closed, [1008, 'signed out'], 'a logout over REST ends it within a beat')
  t.equal(await dialSocket(t, site, { token }).refused, 401)

  const lena = await site.tokenOf('lena')
  t.equal(await dialSocket(t, site, { token: lena, from: '203.0.113.7' }).refused, 401, '1 Authentication 5')
  const away = dialSocket(t, site, { from: '203.0.113.7' })
  t.match(await away.ask('login', { username: 'lena', password: PASSWORD }), {
    body: { message: 'remote access not permitted' },
  })

  const first = dialSocket(t, site)
  const { body } = await first.ask('login', { username: 'olga', password: PASSWORD })
  const again = dialSocket(t, site)
  t.match(await again.ask('login', { token: body.token }), { status: 200, body: { username: 'olga' } })
  t.equal((await site.get('/api/me', body.token)).status, 401, 'a token of the socket is none of REST')
  await first.ask('logout')
  t.strictSame(await again.closed, [1008, 'signed out'])
  t.strictSame((await dialSocket(t, site).closed)[1], 'nobody has signed in')
})

t.test('hostile frames end only the socket that they come over', async (t) => {
  const site = await openRestSite(t, { sets: ['socket.bad_messages=8'] })
  const other = dialSocket(t, site, { token: await site.tokenOf('olga') })
  await other.ask('subscribe', { zones: true })
  const stranger = () => dialSocket(t, site, { from: '10.64.201.7' })
  const hostile: [string, (client: Client) => void, number][] = [
    ['a megabyte', ({ socket }) => socket.send('x'.repeat(1_000_000)), 1009],
    ['deep JSON', ({ socket }) => send(socket, '{"a":'.repeat(10_000)), 1008],
    ['binary', ({ socket }) => send(socket, Buffer.alloc(1000)), 1008],
    ['a name twice', ({ socket }) => send(socket, '{"type":"me","type":"login"}'), 1008],
    ['__proto__', ({ socket }) => send(socket, '{"type":"me","__proto__":{"token":"x"}}'), 1008],
    ['a flood', ({ socket }) => send(socket, '{"type":"me"}', 2000), 1008],
  ]
  for (const [what, attack, code] of hostile) {
    const client = stranger()
    await client.refused
    attack(client)
    t.equal((await client.closed)[0], code, what)
    t.ok(client.heard.length < 200, `${what}: ${client.heard.length} answers`)
  }
  t.match(await other.ask('me'), { status: 200 })
  t.equal((await site.get('/api/health')).status, 200)
})

function send(socket: Client['socket'], message: string | Buffer, times = 8): void {
  for (let at = 0; at < times; at++) socket.send(message)
}

t.test('a slow client gets a summary, and is closed if it stays slow; others are told meanwhile', async (t) => {
  const sets = [
    'socket.messages=10000',
    'http.socket_buffer_bytes=1000000',
    'ui.behind_ms=300',
    'ui.end_ms=6000',
    'ui.coalesce_ms=10',
  ]
  const attribute = [1, 2, 3, 4, 5, 6, 7, 8].map((id) => ({
    id,
    name: `text ${id}`,
    value: '',
    system_target: 'zone',
    target_id: 1,
  }))
  const site = await openRestSite(t, {
    sets,
    rows: { ...rolesWith({ elevated: 'allow socket *\nallow api *' }), attribute },
  })
  const ada = await signedIn(t, site, 'ada')
  const quick = await signedIn(t, site, 'omar')
  const [late, never] = [await signedIn(t, site, 'omar'), await signedIn(t, site, 'omar')]
  for (const client of [quick, late, never]) await client.ask('subscribe', { attributes: true })
  for (const client of [late, never]) client.socket.pause()
  let isOver = false
  const flood = (async () => {
    for (let at = 0; !isOver; at++)
      await Promise.all(
        attribute.map(({ id }) => ada.ask('set_attribute', { attribute_id: id, value: `${at} ${'x'.repeat(60_000)}` })),
      )
  })()
  const log = () => quick.heard.length
  await until('the quick one is told', () => log() > 40)
  late.socket.resume()
  t.match(await late.next('summary'), { type: 'summary' })
  t.ok(Number((await late.next('summary')).dropped) > 0)
  await until('the other one is let go', async () => {
    const { body } = await site.call('GET', '/metrics', { token: await site.tokenOf('ada') })
    return /sockets_open\S* 3\b/.test(String(body))
  })
  isOver = true
  await flood
  never.socket.resume()
  t.notOk(
    quick.heard.some(({ type }) => type === 'summary'),
    'who keeps up misses nothing',
  )
  t.match(await quick.ask('me'), { status: 200 })
})
