/** GET /api/data/:entity of the built controller: the modifiers, and what a session without elevation may not see. */
import t from 'tap'
import { openRestSite, type Told } from './rest-site.ts'

const READABLE = [
  ...['attribute', 'av_source', 'av_zone', 'channel', 'channel_provider', 'command', 'device', 'subsystem', 'ui'],
  ...['ui_control', 'ui_macro', 'ui_page_ui', 'ui_page_widget', 'ui_theme', 'ui_widget', 'ui_zone'],
  ...['ui_zone_group_ui', 'zone'],
]
const CLOSED = [
  ...['auth_user', 'auth_role', 'auth_user_role', 'macro', 'macro_step', 'macro_run', 'credential', 'request_history'],
  ...['web_service', 'license', 'attribute_history', 'site', 'setting', 'zone_group', 'trigger', 'schedule'],
  ...['no_such_table', '__proto__', 'constructor', 'Zone', 'zone%00'],
]

const WIDGETS = 10_002

/** A query, and the number of rows it returns. */
const limits: [query: string, rows: number][] = [
  ['', 1000],
  ['_limit=0', 1000],
  ['_limit=-1', 1000],
  ['_limit=x', 1000],
  ['_limit=', 1000],
  ['_limit=1', 1],
  ['_limit=999', 999],
  ['_limit=1001', 1001],
  ['_limit=10000', 10_000],
  ['_limit=10001', 10_000],
  ['_limit=1e9', 10_000],
  ['_limit=1e3', 1000],
  ['_limit=15e2', 1500],
  ['_limit=007', 7],
  ['_limit=%2B7', 7],
  ['_limit=+7', 1000],
  ['_limit=7%20', 1000],
  ['_limit=1.5', 1],
  ['_limit=0.5', 1000],
  ['_limit=-0', 1000],
  ['_limit=abc', 1000],
  ['_limit=7x', 1000],
  ['_limit=0x10', 1000],
  ['_limit=1,000', 1000],
  ['_limit=Infinity', 1000],
  ['_limit=NaN', 1000],
  ['_limit=true', 1000],
  ['_limit=7&_offset=0', 7],
  ['_limit=10000&_offset=-1', 10_000],
  ['_limit=10000&_offset=x', 10_000],
  ['_limit=10000&_offset=', 10_000],
  ['_limit=10000&_offset=1e4', 2],
  ['_limit=10000&_offset=10001.9', 1],
  ['_offset=1e12', 0],
  ['_limit=10000&_offset=1', 10_000],
  ['_limit=10000&_offset=3', 9999],
  [`_offset=${WIDGETS - 1}`, 1],
  [`_offset=${WIDGETS}`, 0],
]

/** A query on zones or devices, and the ids it returns. */
const filters: [query: string, ids: number[]][] = [
  ['zone?address=Z1', [1]],
  ['zone?device_id=2', [1, 2, 6]],
  ['zone?device_id=2&name=Cellar', [2]],
  ['zone?id=1&id=3', [1, 3]],
  ['zone?_in[id]=1,3', [1, 3]],
  ['zone?id[_in]=1,3', [1, 3]],
  ['zone?_like[name]=%25l%25', [1, 2, 3, 4, 5]],
  ['zone?_contains[name]=ell', [2]],
  ['zone?_gt[id]=4', [5, 6]],
  ['zone?_between[id]=2,4', [2, 3, 4]],
  ['zone?_notequal[device_id]=2', [3, 4, 5]],
  [`zone?_or=${encodeURIComponent('[{"id":1},{"name":"Lamp"}]')}`, [1, 4]],
  ['zone?_orderby=device_id=desc,name&_fields=id', [5, 3, 2, 1, 6, 4]],
  ['zone?_order=name&_fields=id', [2, 1, 3, 4, 6, 5]],
  ['zone?_orderby=id=desc&_limit=2&_offset=1', [5, 4]],
  ['device?subsystem_id=1', [2]],
  ['device?address=007', [1]],
  ['device?address=7', [1]],
  ['device?elevated=true', [3]],
]

/** Queries by a session without elevation, and their answers. */
const guarded: [clause: string, path: string, status: number, reason: string | null][] = [
  ['2 explicit secure=true', 'attribute?secure=true', 200, 'secure_filtered'],
  ['4 value', 'attribute?value=40', 200, 'secure_filtered'],
  ['4 _like value', 'attribute?_like[value]=4%25', 200, 'secure_filtered'],
  ['4 _in value', 'attribute?_in[value]=40,41', 200, 'secure_filtered'],
  ['4 _gt value', 'attribute?_gt[value]=1', 200, 'secure_filtered'],
  ['4 _between value', 'attribute?_between[value]=1,99', 200, 'secure_filtered'],
  ['4 _contains value', 'attribute?_contains[value]=4', 200, 'secure_filtered'],
  ['4 _notequal value', 'attribute?_notequal[value]=4', 200, 'secure_filtered'],
  ['4 value with a sensitive name', 'attribute?value=w1&name=wifiPassword', 200, 'secure_filtered'],
  ['4 value with a pattern for a name', 'attribute?value=w1&_like[name]=level', 200, 'secure_filtered'],
  ['4 previous_value', 'attribute?previous_value=30', 400, 'redacted_filter'],
  ['4 previous_value with a name', 'attribute?previous_value=30&name=level', 400, 'redacted_filter'],
  ['6 a password', 'device?password=x', 400, 'redacted_filter'],
  ['6 _like a password', 'device?_like[password]=l%25', 400, 'redacted_filter'],
  ['6 _notequal a key', 'device?_notequal[api_key]=x', 400, 'redacted_filter'],
  ['6 _in a key', 'device?api_key[_in]=x,y', 400, 'redacted_filter'],
  ['6 a password in _or', `device?_or=${encodeURIComponent('[{"id":1},{"password":"x"}]')}`, 400, 'redacted_filter'],
  ['6 an order by a password', 'device?_orderby=password', 400, 'redacted_filter'],
  ['6 a name of no column that ends so', 'zone?wifi_password=x', 400, 'redacted_filter'],
  ['7 a pair', `zone?_fields=${encodeURIComponent('[["name","n"]]')}`, 400, 'invalid_projection'],
  ['7 a pair next to a name', `zone?_fields=${encodeURIComponent('["id",["name","n"]]')}`, 400, 'invalid_projection'],
]

t.test('1 GET /api/data/:entity', async (t) => {
  const ui_widget = Array.from({ length: WIDGETS }, (_, n) => ({ id: n + 1, name: `Widget ${n + 1}` }))
  const site = await openRestSite(t, { rows: { ui_widget } })
  const [ada, olga, nils] = [await site.tokenOf('ada'), await site.tokenOf('olga'), await site.tokenOf('nils')]
  const read = (path: string, token = olga): Promise<Told> => site.get(`/api/data/${path}`, token)

  for (const entity of READABLE)
    await t.test(`1 Guards 1 ${entity} is readable`, async (t) => {
      const told = await read(`${entity}?_limit=1`)
      t.equal(told.status, 200)
      t.ok(Array.isArray(told.body))
    })

  for (const entity of CLOSED)
    await t.test(`1 Guards 1 ${entity} is elevated_table`, async (t) => {
      const told = await read(entity)
      t.match(told, { status: 403, body: { error: 'unauthorized' } })
      t.match(await site.recordOf(told), { reason: 'elevated_table', status: 403, granted: false, username: 'olga' })
    })

  for (const [query, rows] of limits)
    await t.test(`1 Limits: ${query || 'no _limit'} gives ${rows} rows`, async (t) => {
      t.equal((await read(`ui_widget?${query}`)).body.length, rows)
    })

  for (const [path, ids] of filters)
    await t.test(`1 Modifiers: ${path} gives ${ids.join()}`, async (t) => {
      const { status, body } = await read(path)
      t.equal(status, 200)
      t.strictSame(
        body.map(({ id }: { id: number }) => id),
        ids,
      )
    })

  for (const [clause, path, status, reason] of guarded)
    await t.test(`1 Guards ${clause}: ${decodeURIComponent(path)} is ${reason}`, async (t) => {
      const told = await read(path)
      t.equal(told.status, status)
      t.match(told.body, status === 200 ? [] : { error: 'invalid query' })
      t.match(await site.recordOf(told), { reason, status, username: 'olga', target: `entity ${path.split('?')[0]}` })
    })

  await t.test('1 Guards 2 and 3 secure rows are gone, secrets of the others are null', async (t) => {
    const { body } = await read('attribute')
    t.strictSame(
      body.map(({ id }: { id: number }) => id),
      [1, 2, 3, 5],
    )
    t.match(body, [{ value: '40', previous_value: '30', secure: false }, {}, { value: null, previous_value: null }, {}])
    for (const text of [body[3].value, body[3].previous_value]) {
      const blob = typeof text === 'string' ? JSON.parse(text) : text
      t.match(blob, { host: 'ftp.example.org', sftp: { user: 'u', password: null }, push_signing_key: null })
    }
    const whole = (await read('attribute?secure=true', ada)).body
    t.match(whole, [{ id: 4, name: 'door', value: 'door now', previous_value: 'door then', secure: true }])
    t.match((await read('attribute?name=wifiPassword', ada)).body, [{ value: 'w1', previous_value: 'w0' }])
  })

  await t.test('1 Guards 4 a value with a pinned name that is not sensitive is a filter', async (t) => {
    const told = await read('attribute?name=level&value=40')
    t.match(told.body, [{ id: 1 }])
    t.equal(told.body.length, 1)
    t.match(await site.recordOf(told), { reason: null, granted: true })
  })

  await t.test('1 Guards 5 live state holds no secret, whatever the query says', async (t) => {
    for (const query of ['', '&_strip=false', '&strip=false']) {
      const { body } = await read(`device?id=1&_instance=true${query}`)
      if (body.error !== undefined) continue
      t.notMatch(JSON.stringify(body), /lamp word|w1|w0|door now|door then/)
    }
    const { body } = await read('device?id=2&_instance=true')
    t.match(body, [{ id: 2, password: null, state: String }])
    const hall = body[0].zones.find(({ id }: { id: number }) => id === 1)
    const secure = { name: 'door', secure: true }
    const hidden = { ...secure, value: null, previous_value: null }
    t.match(hall, { name: 'Hall', attributes: [{ name: 'level', value: '40' }, hidden] })
    const elevated = (await read('device?id=2&_instance=true', ada)).body[0]
    const whole = elevated.zones.find(({ id }: { id: number }) => id === 1)
    t.match(whole.attributes[1], { ...secure, value: 'door now', previous_value: 'door then' })
  })

  await t.test('1 Guards 6 flags with such names stay filterable, for sessions that may read them', async (t) => {
    t.equal((await read('auth_user?must_change_password=true', ada)).body.length, 0)
    t.ok((await read('auth_user?must_change_password=false', ada)).body.length > 10)
    t.match((await read('device?must_change_password=true')).body, { error: String })
  })

  await t.test('1 Secret-bearing columns are null for elevated sessions too', async (t) => {
    const [user] = (await read('auth_user?username=ada', ada)).body
    const secrets = ['hash', 'salt', 'pin', 'rfid', 'duress_pin', 'two_factor_token', 'push_subscription']
    for (const column of secrets) t.equal(user[column], null, column)
    t.match(user, { username: 'ada', must_change_password: false })
    const kept = (await read('credential', ada)).body
    t.match(kept, [{ username: 'f', password: null, private_key: null, bearer_token: null, credential_hash: null }])
    const [lights] = (await read('device?id=1')).body
    t.match(lights, { name: 'Lights', password: null, api_key: null })
    t.equal((await read('device?id=1', ada)).body[0].password, null)
    t.notMatch(JSON.stringify(lights), /lamp word|"password":"/)
  })

  await t.test('1 Modifiers: _fields, for elevated sessions with an alias; _count', async (t) => {
    t.strictSame((await read('zone?_fields=id,name&id=1')).body, [{ id: 1, name: 'Hall' }])
    const fields = (value: unknown) => encodeURIComponent(JSON.stringify(value))
    t.strictSame((await read(`zone?_fields=${fields(['id'])}&id=1`)).body, [{ id: 1 }])
    t.strictSame((await read(`zone?_fields=${fields([['name', 'n']])}&id=1`, ada)).body, [{ n: 'Hall' }])
    t.strictSame((await read(`device?_fields=${fields([['password', 'n']])}&id=1`, ada)).body, [{ n: null }])
    t.strictSame((await read('zone?_count=true&device_id=2')).body, { count: 3 })
  })

  await t.test('1 GET /api/data/:entity: an unknown entity or column is 200 with error', async (t) => {
    for (const path of [
      'no_such_table',
      'zone?colour=red',
      'zone?_orderby=colour',
      'zone?_fields=colour',
      'zone?_wat=1',
    ]) {
      const told = await read(path, ada)
      t.match(told, { status: 200, body: { error: String } }, path)
      t.match(await site.recordOf(told), { status: 200, granted: false }, path)
    }
  })

  await t.test('1 GET /api/data/:entity: writes are 501 for every caller', async (t) => {
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE'])
      for (const [path, token] of [
        ['zone', undefined],
        ['zone', ada],
        ['no_such_table', nils],
      ] as const) {
        const told = await site.call(method, `/api/data/${path}`, { token, body: '{' })
        t.match(told, { status: 501, body: { error: 'not implemented' } })
        t.match(await site.recordOf(told), { reason: 'not_implemented', method, path: `/api/data/${path}` })
      }
  })

  await t.test('1 Authentication 7 without query nothing is read, and the role comes before the entity', async (t) => {
    for (const path of ['zone', 'auth_user', 'no_such_table', 'device?password=x']) {
      const told = await read(path, nils)
      t.match(told, { status: 403, body: { error: 'unauthorized' } }, path)
      t.match(await site.recordOf(told), { reason: 'role_denied', username: 'nils' }, path)
    }
    const nobody = await site.get('/api/data/auth_user')
    t.match(nobody, { status: 401, body: { error: 'invalid_session' } })
    t.match(await site.recordOf(nobody), { reason: 'invalid_session' })
  })
})
