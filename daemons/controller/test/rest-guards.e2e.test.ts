/** The guards of the built controller, with every operator in every spelling, and live objects at every depth. */
import t from 'tap'
import { recordsOf } from './raw-call.ts'
import { openRestSite, type Told } from './rest-site.ts'
import { restRows } from './rest-site-rows.ts'

const json = (value: unknown) => encodeURIComponent(JSON.stringify(value))

/**
 * Each operator with an operand that fits a text; `''` is equality. The guards also hold for operators beyond document
 * 1.
 */
const OPERATORS: [operator: string, operand: string][] = [
  ...[
    ['', '40'],
    ['_like', '4%'],
    ['_contains', '4'],
    ['_in', '40,41'],
    ['_notin', '41'],
    ['_gt', '1'],
    ['_gte', '1'],
  ],
  ...[
    ['_lt', '99'],
    ['_lte', '99'],
    ['_between', '1,99'],
    ['_notequal', '41'],
    ['_null', 'false'],
  ],
] as [string, string][]

/** A condition on a column, in every spelling. */
function spellings(operator: string, column: string, operand: string): string[] {
  const text = encodeURIComponent(operand)
  const condition = operator === '' ? { [column]: operand } : { [operator]: { [column]: operand } }
  const name = operator === '' ? column : `${operator}[${column}]`
  const either = [`_or=${json([condition])}`, `_or=${json([{ id: 1 }, { _or: [condition] }])}`]
  const bracketed = name.replace(/^[^[]*/, (first) => `_or[0][${first}]`)
  const plain = operator === '' ? [`${column}[]=${text}`] : [`${column}[${operator}]=${text}`]
  const whole = operator === '' ? [] : [`${operator}=${json({ [column]: operand })}`]
  return [`${name}=${text}`, ...plain, ...whole, ...either, `${bracketed}=${text}`]
}

const every = (column: string) => OPERATORS.flatMap(([operator, operand]) => spellings(operator, column, operand))

/** Queries that only secure attributes satisfy. */
const SECURE = [
  ...['secure=true', 'secure=1', 'secure[]=true', '_in[secure]=true', 'secure[_in]=1', `_in=${json({ secure: true })}`],
  ...['_notequal[secure]=false', '_notin[secure]=false', '_gt[secure]=0', '_gte[secure]=1', '_between[secure]=1,2'],
  ...[`_or=${json([{ secure: true }])}`, '_or[0][secure]=true', '_or[0][_gt][secure]=0&_or[1][secure]=true'],
  ...[
    'secure=true&_count=true',
    'secure=true&name=level',
    'secure=true&_fields=id',
    '_like[secure]=true',
    '_contains[secure]=true',
  ],
]

/** Conditions on a value whose accompanying name does not pin an innocent one. */
const UNPINNED = [
  ...['value=w1&name=wifiPassword', 'value=w1&name=level&name=wifiPassword', 'value=4&_like[name]=level'],
  ...[
    'value=4&_contains[name]=level',
    'value=4&_notequal[name]=door',
    'value=4&_gt[name]=a',
    'value=4&_null[name]=false',
  ],
  ...['value=4&_between[name]=a,z', 'value=4&_notin[name]=door', 'value=4&_in[name]=level,api_key'],
  ...[`value=4&_or=${json([{ name: 'level' }])}`, `_or=${json([{ name: 'level' }, { value: '40' }])}`, 'value=4&id=1'],
  ...['_orderby=value', '_orderby=name,value=desc', '_order=value', '_count=value', '_orderby=value&name=wifiPassword'],
]

/** Conditions on a value with a pinned name, and the ids of the attributes. */
const pinned: [query: string, ids: number[]][] = [
  ['name=level&value=40', [1]],
  ['name=level&value[]=40', [1]],
  ['name=level&_like[value]=4%25', [1]],
  ['name=level&_contains[value]=0', [1, 2]],
  ['name=level&_in[value]=40,41', [1]],
  ['name=level&value[_gt]=39', [1, 2]],
  ['name=level&_between[value]=40,69', [1]],
  ['name=level&_notequal[value]=40', [2]],
  ['name=level&_lt[value]=41', [1]],
  ['_in[name]=level,backup&value=40', [1]],
  ['name[]=level&value=40', [1]],
  [`_or=${json([{ name: 'level', value: '70' }])}`, [2]],
  [`name=level&_or=${json([{ value: '40' }, { value: '70' }])}`, [1, 2]],
  ['name=level&_orderby=value=desc', [2, 1]],
  // The redacted value is compared, so a nested secret cannot be probed.
  [`name=backup&_contains[value]=${encodeURIComponent('"user":"u"')}`, [5]],
  [`name=backup&_contains[value]=${encodeURIComponent('"password":"p"')}`, []],
  [`name=backup&_contains[value]=${encodeURIComponent('"password":null')}`, [5]],
  ['name=backup&_like[value]=%25signing_key%22:%22k%25', []],
]

/** Aliases, and anything else that is not a plain list of names. */
const PAIRS = [
  ...[[['name', 'n']], ['id', ['name', 'n']], [['name']], [['name', 'n', 'x']], [1], [null], [{ name: 'n' }], [[]]].map(
    (fields) => `_fields=${json(fields)}`,
  ),
  ...['_fields[0][0]=name&_fields[0][1]=n', '_fields[]=id&_fields[1][]=name&_fields[1][]=n', '_fields[name]=n'],
  `_fields=${json({ name: 'n' })}`,
  `_fields=id&_fields=${json([['name', 'n']])}`,
]

const SECRET_NAMES = [
  ...['hash', 'salt', 'pin', 'rfid', 'duress_pin', 'two_factor_token', 'token', 'push_subscription', 'private_key'],
  ...['api_key', 'secret', 'password', 'bearer_token', 'credential_hash'],
  ...['x_token', 'x_secret', 'x_password', 'x_passwd', 'x_hash'],
]

/** The answer of a guard: status, body, reason. */
type Refusal = [status: number, body: unknown, reason: string]
const EMPTY: Refusal = [200, [], 'secure_filtered']
const REDACTED: Refusal = [400, { error: 'invalid query' }, 'redacted_filter']
const PROJECTION: Refusal = [400, { error: 'invalid query' }, 'invalid_projection']

const refusals: [title: string, table: string, queries: string[], refusal: Refusal][] = [
  ['2 asking only for secure rows', 'attribute', SECURE, EMPTY],
  ['4 every operator on value', 'attribute', every('value'), EMPTY],
  ['4 a value without a name that pins it', 'attribute', UNPINNED, EMPTY],
  ['4 every operator on previous_value', 'attribute', every('previous_value'), REDACTED],
  ['4 previous_value with a pinned name', 'attribute', every('previous_value').map((q) => `name=level&${q}`), REDACTED],
  [
    '4 an order or count by previous_value',
    'attribute',
    ['_orderby=previous_value', '_count=previous_value'],
    REDACTED,
  ],
  ['6 every operator on password', 'device', every('password'), REDACTED],
  ['6 every operator on api_key', 'device', every('api_key'), REDACTED],
  ['6 every name that is listed, or ends so', 'zone', SECRET_NAMES.map((name) => `${name}=1`), REDACTED],
  ['6 an order or count', 'device', ['_orderby=name,password', '_order=api_key=desc', '_count=password'], REDACTED],
  ['7 whatever is not a list of names', 'zone', PAIRS, PROJECTION],
]

t.test('1 Guards for a non-elevated session', async (t) => {
  const base = restRows(0)
  const key = { id: 6, name: 'wifiKey', value: 'z1', previous_value: 'z0', system_target: 'zone', target_id: 1 }
  const site = await openRestSite(t, { rows: { attribute: [...(base.attribute ?? []), key] } })
  const [ada, olga] = [await site.tokenOf('ada'), await site.tokenOf('olga')]
  const read = (path: string, token = olga): Promise<Told> => site.get(`/api/data/${path}`, token)

  for (const [title, table, queries, [status, body, reason]] of refusals)
    await t.test(`1 Guards ${title}: ${queries.length} queries are ${reason}`, async (t) => {
      const told: [query: string, answer: Told][] = []
      for (const query of queries) {
        const answer = await read(`${table}?${query}`)
        t.match([answer.status, answer.body], [status, body], decodeURIComponent(query))
        told.push([query, answer])
      }
      const answers = told.map(([, answer]) => answer)
      const records = await recordsOf(site, answers, ada)
      const facts = { reason, status, granted: false, username: 'olga', target: `entity ${table}` }
      for (const [query, { from }] of told) t.match(records.get(from), facts, query)
    })

  await t.test('1 Guards 4 a value with a pinned name is compared as it is shown', async (t) => {
    for (const [query, ids] of pinned) {
      const { status, body } = await read(`attribute?${query}`)
      const found = Array.isArray(body) ? body.map(({ id }: { id: number }) => id) : body
      t.strictSame([status, found], [200, ids], decodeURIComponent(query))
    }
  })

  await t.test('1 Guards 2 secure=false is forced, whatever else the query says', async (t) => {
    const open = [1, 2, 3, 5, 6]
    for (const query of [
      '',
      'secure=false',
      'secure=0',
      'secure=true&secure=false',
      '_null[secure]=false',
      '_lt[secure]=9',
    ])
      t.strictSame(
        (await read(`attribute?${query}`)).body.map(({ id }: { id: number }) => id),
        open,
        query,
      )
    t.strictSame((await read('attribute?_count=true')).body, { count: 5 })
    t.strictSame((await read('attribute?id=4')).body, [])
    t.strictSame((await read('attribute?name=door&_fields=value')).body, [])
    t.strictSame((await read('attribute?name=wifiKey&_fields=value,previous_value')).body, [
      { value: null, previous_value: null },
    ])
    t.strictSame((await read('attribute?_in[name]=wifiKey,wifiPassword&_fields=value')).body, [
      { value: null },
      { value: null },
    ])
  })

  await t.test('1 Guards 6 a secret-bearing column can be shown, as null; flags stay filterable', async (t) => {
    t.strictSame((await read('device?id=1&_fields=id,password,api_key')).body, [
      { id: 1, password: null, api_key: null },
    ])
    for (const query of [
      'must_change_password=true',
      '_orderby=must_change_password',
      '_notequal[must_change_password]=1',
    ])
      t.match(await read(`device?${query}`), { status: 200, body: { error: /no column/ } }, query)
  })

  await t.test(
    '1 Guards: none of them applies to elevated sessions, which see secret-bearing columns as null',
    async (t) => {
      t.match((await read('attribute?secure=true', ada)).body, [{ id: 4, value: 'door now' }])
      t.match((await read('attribute?value=w1', ada)).body, [{ id: 3 }])
      t.match((await read('attribute?previous_value=door then', ada)).body, [{ id: 4 }])
      t.match((await read('attribute?_contains[value]=signing', ada)).body, [{ id: 5 }])
      t.equal((await read('attribute?_orderby=value', ada)).body.length, 6)
      for (const query of [
        'password=lamp word',
        '_like[password]=l%25',
        '_contains[password]=a',
        '_null[password]=false',
      ])
        t.strictSame((await read(`device?${query.replace(' ', '+')}`, ada)).body, [], query)
      t.strictSame((await read('device?_count=password', ada)).body, { count: 0 })
      t.strictSame((await read('auth_user?_gt[hash]=0', ada)).body, [])
      for (const fields of [
        `_fields=${json([['name', 'n'], 'id'])}`,
        '_fields[0][0]=name&_fields[0][1]=n&_fields[1]=id',
      ])
        t.strictSame((await read(`zone?id=1&${fields}`, ada)).body, [{ n: 'Hall', id: 1 }])
      t.strictSame(
        (
          await read(
            `auth_user?id=1&_fields=${json([
              ['hash', 'h'],
              ['username', 'u'],
            ])}`,
            ada,
          )
        ).body,
        [{ h: null, u: 'ada' }],
      )
      t.match(
        (
          await read(
            `zone?_fields=${json([
              ['name', 'n'],
              ['id', 'n'],
            ])}`,
            ada,
          )
        ).body,
        { error: String },
      )
    },
  )

  await t.test('1 Guards 5 live objects hold no secret at any depth, whatever the query says', async (t) => {
    const live = { zone_id: 4, command: 'doorKey', args: { doorKey: 'live secret' } }
    t.match((await site.post('/api/control/command', live, ada)).body, { success: true })
    t.match((await site.post('/api/control/command', { zone_id: 4, level: 30 }, ada)).body, { success: true })
    const [lights] = (await read('device?id=1&_instance=true')).body
    t.match(lights, {
      state: String,
      elevated: false,
      enabled: true,
      password: null,
      config: { ftp: { password: null } },
    })
    t.match(lights.zones, [{ id: 4, level: 30, state: 'on', elevated: false, doorKey: null }])
    t.match(lights.zones[0].attributes, [{ id: 2, value: '30', secure: false }])
    const [line] = (await read('device?id=2&_instance=true')).body
    const hall = line.zones.find(({ id }: { id: number }) => id === 1)
    const seen = hall.attributes.map(({ id, value, previous_value }: Record<string, unknown>) => [
      id,
      value,
      previous_value,
    ])
    t.strictSame(seen, [
      [1, '40', '30'],
      [4, null, null],
      [6, null, null],
    ])
    const words = /lamp word|live secret|door now|door then|w0|w1|z0|z1|"k"|\\"k\\"/
    for (const path of ['device?', 'zone?', 'device?id=2&', 'zone?id=4&', 'zone?_fields=id&', 'device?_fields=name&'])
      for (const more of ['', '&_limit=5', '&_orderby=name=desc', '&_offset=0'])
        t.notMatch(JSON.stringify((await read(`${path}_instance=true${more}`)).body), words, path + more)
    for (const more of ['_strip=false', 'strip=false', '_instance=false', '_elevated=true', '_secrets=1', 'elevated=1'])
      t.notMatch(JSON.stringify((await read(`device?_instance=true&${more}`)).body), words, more)
    const [whole] = (await read('device?id=1&_instance=true', ada)).body
    t.match(whole, { password: null, config: { ftp: { password: null } }, zones: [{ doorKey: 'live secret' }] })
    t.match((await read('zone?id=1&_instance=true', ada)).body[0].attributes, [
      {},
      { value: 'door now' },
      { value: 'z1' },
    ])
    t.match((await read('zone?id=4&_instance=true&_fields=id')).body, [{ id: 4, level: 30, attributes: [{ id: 2 }] }])
    t.strictSame(
      (await read('ui?id=1&_instance=true&_fields=id')).body,
      [{ id: 1 }],
      'a row without a live object is unchanged',
    )
  })
})

t.test(
  'with reads_scoped_to_uis, sessions without elevation read what belongs to the zones of their UIs',
  async (t) => {
    const site = await openRestSite(t, { rows: { setting: [{ key: 'reads_scoped_to_uis', value: 'true' }] } })
    const [ada, olga, omar] = await Promise.all(['ada', 'olga', 'omar'].map((name) => site.tokenOf(name)))
    const ids = async (path: string, token: string | undefined) =>
      (await site.get(`/api/data/${path}`, token)).body.map(({ id }: { id: number }) => id)
    t.strictSame(await ids('zone', olga), [1, 3, 4, 5, 6])
    t.strictSame(await ids('zone', omar), [1, 2, 3, 4, 5, 6], 'a UI without a scope opens all')
    t.strictSame(await ids('zone', ada), [1, 2, 3, 4, 5, 6])
    t.strictSame(await ids('device', olga), [1, 2, 3, 4])
    t.strictSame(await ids('zone?id=2', olga), [])
    t.strictSame((await site.get('/api/data/zone?_count=true', olga)).body, { count: 5 })
    const [line] = (await site.get('/api/data/device?id=2&_instance=true', olga)).body
    t.strictSame(
      line.zones.map(({ id }: { id: number }) => id),
      [1, 6],
      'nor do they hang off a device',
    )
    t.strictSame(await ids('subsystem', olga), [1])
  },
)
