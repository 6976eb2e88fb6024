/** The grammar of queries of the built controller: numbers, operators in every spelling, modifiers, what is refused. */
import t, { type Test } from 'tap'
import { recordsOf } from './raw-call.ts'
import { openRestSite, type Told } from './rest-site.ts'

/** Addresses of devices from 11 on; searches use the first digit of each meaning. */
const ADDRESSES = ['7', '007', '1000', '1e3', '0x10', 'Infinity', ' 7', '', '-5', '1.5', 'NaN', '0', 'true', null]
const device = ADDRESSES.map((address, at) => ({ id: 11 + at, name: `Device ${at}`, address, poll_ms: [10, 20][at] }))
const at = (...found: (string | null)[]) => found.map((address) => 11 + ADDRESSES.indexOf(address))
const ids = device.map(({ id }) => id)

const zone = [
  { id: 1, name: 'Hall', device_id: 11, min: 0, max: 10, icon: 'a', position: 2 },
  { id: 2, name: 'hallway', device_id: 11, min: 1.5, unit: '%', position: 2 },
  { id: 3, name: 'Attic 100%', device_id: 12, min: -3, elevated: true, position: 1 },
  { id: 4, name: 'Attic_2', device_id: 12, max: 20 },
  { id: 5, name: 'Größe', max: 100, position: 3 },
]
const json = (value: unknown) => encodeURIComponent(JSON.stringify(value))

/**
 * A query, and the ids it returns. @source document 1, GET /api/data/:entity, a parameter value that parses as a number
 */
const numbers: [query: string, ids: number[]][] = [
  ['device?address=007', at('7')],
  ['device?address=7', at('7')],
  ['device?address=7.0', at('7')],
  ['device?address=70e-1', at('7')],
  ['device?address=%2B7', at('7')],
  ['device?address=+7', at(' 7')],
  ['device?address=%207', at(' 7')],
  ['device?address=7%20', []],
  ['device?address=1e3', at('1000')],
  ['device?address=1E%2B3', at('1000')],
  ['device?address=0x10', at('0x10')],
  ['device?address=Infinity', at('Infinity')],
  ['device?address=NaN', at('NaN')],
  ['device?address=', at('')],
  ['device?address=-5', at('-5')],
  ['device?address=-005', at('-5')],
  ['device?address=1.50', at('1.5')],
  ['device?address=-0', at('0')],
  ['device?address=true', at('true')],
  ['device?address=null', []],
  [`device?_in=${json({ address: ['007'] })}`, at('007')],
  ['device?_contains[address]=007', at('007')],
  ['device?id=007&id=11', [11]],
  ['device?id=1.1e1', [11]],
  ['device?id=0xB', []],
  ['device?id=', []],
  ['device?id=+11', []],
  ['device?id=Infinity', []],
  ['zone?elevated=true', [3]],
  ['zone?elevated=1', [3]],
  ['zone?elevated=false', [1, 2, 4, 5]],
  ['zone?elevated=yes', []],
  ['zone?min=1.5', [2]],
  ['zone?min=0', [1]],
]

/** An operator, a column, the operand as text and as JSON, and the ids it returns. */
const operators: [operator: string, column: string, text: string, json: unknown, ids: number[]][] = [
  ['_like', 'name', 'hall%', 'hall%', [1, 2]],
  ['_like', 'name', 'Attic_%', 'Attic_%', [3, 4]],
  ['_like', 'name', 'Gr__e', 'Gr__e', [5]],
  ['_contains', 'name', '0%', '0%', [3]],
  ['_contains', 'name', 'C_2', 'C_2', [4]],
  ['_in', 'id', '1,003,x', [1, 3, 'x'], [1, 3]],
  ['_in', 'id', '[1,5]', [1, 5], [1, 5]],
  ['_notin', 'id', '1,2', [1, 2], [3, 4, 5]],
  ['_notin', 'min', '0', [0], [2, 3, 4, 5]],
  ['_gt', 'min', '0', 0, [2]],
  ['_gte', 'min', '0', 0, [1, 2]],
  ['_lt', 'min', '1.5', 1.5, [1, 3]],
  ['_lte', 'min', '1.5', 1.5, [1, 2, 3]],
  ['_between', 'min', '-3,0', [-3, 0], [1, 3]],
  ['_between', 'max', '10,20', [10, 20], [1, 4]],
  ['_notequal', 'min', '0', 0, [2, 3, 4, 5]],
  ['_notequal', 'name', 'Hall', 'Hall', [2, 3, 4, 5]],
  ['_null', 'min', 'true', true, [4, 5]],
  ['_null', 'min', 'false', false, [1, 2, 3]],
]

const others: [query: string, ids: number[]][] = [
  ['zone?name=Hall&name=Attic_2', [1, 4]],
  ['zone?name[]=Hall&name[]=Attic_2', [1, 4]],
  ['zone?_in[id]=1&_in[id]=4', [1, 4]],
  ['zone?_between[min]=-3&_between[min]=0', [1, 3]],
  ['zone?name=hall', []],
  ['zone?device_id=11&_gt[min]=1', [2]],
  ['zone?_gt[min]=-5&_lt[min]=1', [1, 3]],
  ['zone?min[_gt]=-5&min[_lt]=1', [1, 3]],
  [`zone?_or=${json([{ id: 1 }, { _gt: { max: 50 } }])}`, [1, 5]],
  ['zone?_or[0][id]=1&_or[1][_gt][max]=50', [1, 5]],
  ['zone?_or[0][id]=1&_or[1][max][_gt]=50', [1, 5]],
  ['zone?_or[0][id]=1&_or[0][name]=Nowhere&_or[1][id]=2', [2]],
  [`zone?_or=${json([{ id: 1 }, { id: 2 }])}&_or=${json([{ id: 2 }, { id: 3 }])}`, [2]],
  [`zone?_or=${json([{ id: 1 }, { id: 2 }])}&device_id=11&_notequal[id]=1`, [2]],
  [`zone?_or=${json([{ _or: [{ id: 1 }, { id: 5 }], elevated: false }, { id: 3 }])}`, [1, 3, 5]],
  ['zone?_orderby=position', [4, 3, 1, 2, 5]],
  ['zone?_orderby=position=desc', [5, 1, 2, 3, 4]],
  ['zone?_orderby=position=asc,name=desc', [4, 3, 2, 1, 5]],
  ['zone?_orderby=position%3Ddesc%2Cid%3Ddesc', [5, 2, 1, 3, 4]],
  ['zone?_orderby=name', [3, 4, 5, 1, 2]],
  ['zone?_order=id=DESC', [5, 4, 3, 2, 1]],
  ['zone?_orderby=position&_order=id=desc', [4, 3, 2, 1, 5]],
  ['zone?_orderby=position&_orderby=id=desc', [4, 3, 2, 1, 5]],
  [`zone?_orderby=${json(['position', 'id=desc'])}`, [4, 3, 2, 1, 5]],
  ['zone?_orderby=id=desc&_limit=2&_offset=2', [3, 2]],
  ['zone?_instance=false', [1, 2, 3, 4, 5]],
  ['zone?_count=false', [1, 2, 3, 4, 5]],
  ['zone?&&id=1&', [1]],
  ['zone?%69d=1', [1]],
  ['zone?name=Gr%C3%B6%C3%9Fe', [5]],
  ['zone?name=Attic+100%25', [3]],
]

/** None of these is silently ignored. */
const refused: [query: string, reason: string][] = [
  ...of(
    'unknown_modifier',
    ...['_foo=1', '_LIKE[name]=x', '_Limit=1', '__proto__=1', '_=1', 'name[_foo]=x', '_or[0][_foo][id]=1', '_strip=0'],
  ),
  ...of(
    'bad_query',
    ...['colour=red', 'Name=Hall', 'constructor=1', 'name%20=x', '_gt[colour]=1', '_orderby=colour', '_fields=colour'],
    ...['_fields=', '_orderby=', '_count=colour', '_count=', '_instance=maybe', '_instance=', '_orderby=name=up'],
    ...['_limit=5&_limit=5', '_limit[]=5', '_offset=1&_offset=1', '_instance=true&_instance=true', '_count=1&_count=1'],
    ...['_like=x', '_like={"name":', '_like=[]', '_like[name]', 'name', 'name[x]=1', 'name[=1', '[name]=1', '=1'],
    ...['_between[id]=1', '_between[id]=1,2,3', '_gt[id]=1&_gt[id]=2', '_null[id]=maybe', '_gt[id][x]=1', 'a]=1'],
    ...['_or=x', '_or={"id":1}', '_or=[]', '_or=[{}]', '_or=[1]', '_or=[[]]', '_or[x][id]=1', '_or[0]=1', '_or[id]=1'],
    ...['name=%', 'name=%zz', 'name=%ff', '%=1', '?id=1', '_in[id][a]=1'],
  ),
]

function of(reason: string, ...queries: string[]): [query: string, reason: string][] {
  return queries.map((query) => [query.replaceAll('"', '%22'), reason])
}

/** All under one _or: repeated names would become one condition. */
const conditions = (n: number) => `_or=${json(Array.from({ length: n }, (_, at) => ({ id: at })))}`
const deep = (n: number): object => (n === 0 ? { id: 1 } : { _or: [deep(n - 1)] })
const items = (n: number) => Array.from({ length: n }, (_, at) => at + 1).join()

/** A query of this many bytes. */
function bytes(n: number): string {
  const parts = ['id=1']
  for (let left = n - 4; left > 0; left = n - parts.join('&').length)
    parts.push(`_notequal[name]=${'x'.repeat(Math.min(900, left - '&_notequal[name]='.length))}`)
  return parts.join('&')
}

/** At the limit, and one beyond it. @source document 1, Query grammar */
const caps: [what: string, at: string, beyond: string][] = [
  ['bytes', bytes(16_384), bytes(16_385)],
  ['conditions', conditions(64), conditions(65)],
  ['levels of _or', `_or=${json([deep(3)])}`, `_or=${json([deep(4)])}`],
  ['items of a list', `_in[id]=${items(1000)}`, `_in[id]=${items(1001)}`],
]

/** One condition in every spelling. */
function spellings(operator: string, column: string, text: string, value: unknown): string[] {
  const operand = encodeURIComponent(text)
  return [
    `${operator}[${column}]=${operand}`,
    `${column}[${operator}]=${operand}`,
    `${operator}=${json({ [column]: text })}`,
    `${operator}=${json({ [column]: value })}`,
    `_or[0][${operator}][${column}]=${operand}`,
    `_or[0][${column}][${operator}]=${operand}`,
    `_or=${json([{ [operator]: { [column]: value } }])}`,
    `_or=${json([{ [column]: { [operator]: value } }])}`,
  ]
}

t.test('1 Query grammar', async (t) => {
  const site = await openRestSite(t, { rows: { device, zone, ui_zone: [], attribute: [] } })
  const omar = await site.tokenOf('omar')
  const read = (path: string) => site.get(`/api/data/${path}`, omar)

  async function gives(t: Test, path: string, expected: readonly number[]): Promise<void> {
    const { status, body } = await read(path)
    const found = Array.isArray(body) ? body.map(({ id }: { id: number }) => id) : body
    t.strictSame([status, found], [200, expected], path)
  }

  await t.test(
    '1 GET /api/data/:entity: a value that parses as a number is one, everything else stays text',
    async (t) => {
      for (const [path, expected] of numbers) await gives(t, path, expected)
      t.equal((await read('device')).body.length, ids.length)
    },
  )

  for (const [operator, column, text, value, expected] of operators)
    await t.test(`1 Modifiers: ${operator}[${column}]=${text} in every spelling`, async (t) => {
      for (const query of spellings(operator, column, text, value)) await gives(t, `zone?${query}`, expected)
    })

  await t.test('1 Modifiers: repeated columns, _or, orders, pages, escapes', async (t) => {
    for (const [path, expected] of others) await gives(t, path, expected)
  })

  await t.test('1 Modifiers: a query without meaning is 200 with error, recorded with its reason', async (t) => {
    const told: [query: string, reason: string, answer: Told][] = []
    for (const [query, reason] of refused) {
      const answer = await read(`zone?${query}`)
      t.match(answer, { status: 200, body: { error: /./ } }, query)
      told.push([query, reason, answer])
    }
    const answers = told.map(([, , answer]) => answer)
    const records = await recordsOf(site, answers, await site.tokenOf('ada'))
    for (const [query, reason, { from }] of told)
      t.match(records.get(from), { reason, status: 200, granted: false, target: 'entity zone' }, query)
  })

  for (const [what, bound, beyond] of caps)
    await t.test(`1 Query grammar: a query has a maximum of ${what}`, async (t) => {
      t.ok(Array.isArray((await read(`zone?${bound}`)).body), 'at the limit it is read')
      t.match(await read(`zone?${beyond}`), { status: 200, body: { error: /./ } }, 'one more is refused')
    })

  await t.test('1 Modifiers: _fields and _count in every spelling', async (t) => {
    const named = [{ id: 1, name: 'Hall' }]
    for (const fields of ['id,name', json(['id', 'name'])])
      t.strictSame((await read(`zone?id=1&_fields=${fields}`)).body, named)
    for (const query of ['_fields=id&_fields=name', '_fields[]=id&_fields[]=name', '_fields[0]=id&_fields[1]=name'])
      t.strictSame((await read(`zone?id=1&${query}`)).body, named)
    t.strictSame((await read('zone?id=1&_fields=name,name')).body, [{ name: 'Hall' }])
    for (const query of ['_count=true', '_count=1', '_count=true&_limit=2', '_count=true&_orderby=name&_offset=3'])
      t.strictSame((await read(`zone?${query}`)).body, { count: 5 }, query)
    t.strictSame((await read('zone?_count=min')).body, { count: 3 })
    t.strictSame((await read('zone?_count=true&device_id=11')).body, { count: 2 })
  })
})
