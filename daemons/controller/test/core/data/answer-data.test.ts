import t from 'tap'
import type { Session } from '../../../core/access/accounts.ts'
import type { Outcome } from '../../../core/audit.ts'
import { answerData } from '../../../core/data/answer-data.ts'
import type { Json } from '../../../core/json.ts'
import { bodyText } from '../../../core/json.ts'
import type { Row } from '../../../core/site/book.ts'
import { elevatedCaller, type HouseOptions, plainCaller, type Tables, worldOf } from './data-house.ts'

type Shown = Record<string, Json>

async function asked(content: Tables, path: string, caller: Session = plainCaller, options: HouseOptions = {}) {
  const [entity = '', query = ''] = path.split('?')
  const { body } = await answerData(worldOf(content, options), caller, entity, query)
  return 'json' in body ? body.json : JSON.parse(bodyText(body))
}

const zones = {
  zone: [
    { name: 'b', address: '2', position: 3 },
    { name: 'a', address: '10', position: null },
    { name: 'B', address: '7', position: 3 },
    { name: null, address: '007', position: 1 },
  ],
}
const ids = async (query: string) => (await asked(zones, `zone?${query}`)).map((row: Shown) => row.id)

t.test('1 GET /api/data/:entity conditions all hold, and a part of each _or', async (t) => {
  t.same(await ids('name=b&name=a'), [1, 2])
  t.same(await ids('name=b&address=2'), [1])
  t.same(await ids('name=b&address=3'), [])
  t.same(await ids('address=007'), [3])
  t.same(await ids('_in={"address":["007"]}'), [4])
  t.same(await ids('_or=[{"id":1},{"id":3}]&position=3'), [1, 3])
  t.same(await ids('_or=[{"id":1},{"id":2}]&_or=[{"id":2},{"id":3}]'), [2])
  t.same(await ids('_notequal[name]=b'), [2, 3, 4])
  t.same(await ids('_between[address]=5,10'), [2, 3, 4])
  t.same(await ids('id=1e0'), [1])
  t.same(await ids('id=3&id=1&id=99'), [1, 3])
  t.same(await ids('id=true'), [])
  t.same(await ids('_in={"id":[true]}'), [1])
  t.same(await ids('_in={"name":[null]}'), [4])
})

t.test('1 Modifiers _limit and _offset page by id', async (t) => {
  t.same(await ids('_limit=2'), [1, 2])
  t.same(await ids('_limit=2&_offset=3'), [4])
  t.same(await ids('_offset=9'), [])
  t.same(await ids('_limit=1&_offset=1&_orderby=name'), [3])
})

t.test('1 Modifiers _limit gives 1000 rows by default and never more than 10000', async (t) => {
  const many = { zone: Array.from({ length: 10_500 }, () => ({ name: 'x' })) }
  t.equal((await asked(many, 'zone?_fields=id')).length, 1000)
  t.equal((await asked(many, 'zone?_fields=id&_limit=0')).length, 1000)
  t.equal((await asked(many, 'zone?_fields=id&_limit=99999')).length, 10_000)
  t.same(await asked(many, 'zone?_count=true&_limit=5'), { count: 10_500 })
})

t.test('1 Modifiers _orderby applies every column in order, nulls first, ties by id', async (t) => {
  t.same(await ids('_orderby=name'), [4, 3, 2, 1])
  t.same(await ids('_orderby=name=desc'), [1, 2, 3, 4])
  t.same(await ids('_orderby=position,name=desc'), [2, 4, 1, 3])
  t.same(await ids('_order=position=desc'), [1, 3, 4, 2])
  t.same(await ids('_orderby=id=desc&_limit=2'), [4, 3])
})

t.test('1 Modifiers _orderby keeps the first of many', async (t) => {
  const many = { zone: Array.from({ length: 5000 }, (_, at) => ({ name: 'x', position: (at * 7919) % 5000 })) }
  const rows = await asked(many, 'zone?_orderby=position&_limit=3&_offset=2&_fields=position')
  t.same(rows, [{ position: 2 }, { position: 3 }, { position: 4 }])
})

t.test('1 Modifiers _fields shows the columns asked for, once each', async (t) => {
  t.same(await asked(zones, 'zone?_fields=name,id,name&id=1'), [{ name: 'b', id: 1 }])
  t.same(Object.keys((await asked(zones, 'zone?id=1'))[0]).slice(0, 4), ['id', 'name', 'device_id', 'subsystem_id'])
})

t.test('1 Modifiers _count counts all rows that match, or those that have a value', async (t) => {
  t.same(await asked(zones, 'zone?_count=true&position=3'), { count: 2 })
  t.same(await asked(zones, 'zone?_count=position'), { count: 3 })
  t.same(await asked(zones, 'zone?_count=true&_limit=1&_offset=3&_fields=id&_orderby=id'), { count: 4 })
  t.same(await asked(zones, 'zone?_count=false&id=1&_fields=id'), [{ id: 1 }])
})

t.test(
  '1 GET /api/data/:entity columns of a row beyond the registry are not shown, missing ones are null',
  async (t) => {
    const [row] = await asked({ subsystem: [{ name: 'Light', stray: 'x' }] }, 'subsystem')
    t.notOk('stray' in row)
    t.equal(row.position, null)
  },
)

t.test('1 Limits others get their turn while many rows are tested and written', async (t) => {
  const many = { zone: Array.from({ length: 100 }, (_, at) => ({ name: 'x', position: at })) }
  const world = worldOf(many, { turnSteps: 4 })
  const outcome = answerData(world, plainCaller, 'zone', '_gte[position]=0')
  t.type(outcome, Promise)
  const { body } = await outcome
  t.equal('json' in body ? undefined : JSON.parse(bodyText(body)).length, 100)
  t.equal(world.breaths.count, 3)
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(answerData(world, plainCaller, 'zone', 'id=5') instanceof Promise, 'a row asked for by id is found at once')
})

t.test('1 Elevated sessions read tables of history, from the disk', async (t) => {
  const history = {
    request_history: Array.from({ length: 7 }, (_, at) => ({ status: 200 + (at % 3), path: `/p${at}` })),
  }
  const read = (query: string, options?: HouseOptions) =>
    asked(history, `request_history?${query}`, elevatedCaller, options)
  const idsOf = async (query: string) => (await read(query)).map((row: Shown) => row.id)
  t.same(await idsOf('status=201'), [2, 5])
  t.same(await idsOf('_limit=3&_offset=1'), [2, 3, 4])
  t.same(await idsOf('_orderby=id=desc&_limit=2'), [7, 6])
  t.same(await idsOf('_orderby=status=desc,id=desc&_limit=3'), [6, 3, 5])
  t.same(await idsOf('id=3'), [3])
  t.same(await read('_count=true&status=200'), { count: 3 })
  t.match(await read('_orderby=status', { limits: { orderedRows: 999 } }), { error: /up to row 999/ })
  t.match(await read('_orderby=status&_count=true', { limits: { orderedRows: 999 } }), { count: 7 })
})

t.test('1 GET /api/data/:entity a row that is replaced shows its new values', async (t) => {
  const rows: Row[] = Array.from({ length: 150 }, (_, at) => ({ id: at + 1, name: 'old' }))
  const world = worldOf({})
  world.book.rows = () => rows
  const names = (query: string) => {
    const outcome = answerData(world, plainCaller, 'zone', query)
    if (outcome instanceof Promise || 'json' in outcome.body) throw new Error('no rows')
    return JSON.parse(bodyText(outcome.body)).map(({ name }: Shown) => name)
  }
  const all = (changed: Record<number, string>) => rows.map((_, at) => changed[at] ?? 'old')
  for (const query of ['', '_fields=name', '_instance=true']) t.same(names(query), all({}))
  rows[70] = { id: 71, name: 'new' }
  for (const query of ['', '_fields=name', '_instance=true'])
    t.same(names(query), all({ 70: 'new' }), `even in the same array: ${query}`)
  rows.push({ id: 151, name: 'one more' })
  t.same(names(''), all({ 70: 'new', 150: 'one more' }))
  rows.length = 140
  t.same(names(''), all({ 70: 'new' }))
})

/** Characters of one, two and four bytes: a row does not end at the same offset in bytes and in characters. */
const SIGNS = ['a', 'é', '😀']

t.test('1 Modifiers a page of a table is the same, whether it is built from blocks or row by row', async (t) => {
  const secure = (at: number) => (at * 7) % 5 === 0
  const content = {
    attribute: Array.from({ length: 700 }, (_, at) => ({ name: `${SIGNS[at % 3]}${at}`, secure: secure(at) })),
  }
  const world = worldOf(content, { turnSteps: 2 })
  const told = ({ body, ...rest }: Outcome) => ({ ...rest, text: bodyText(body) })
  for (const caller of [plainCaller, elevatedCaller])
    for (const limit of [1, 63, 64, 65, 127, 128, 129, 200, 1000])
      for (const offset of [0, 1, 51, 64, 127, 128, 600, 900]) {
        const query = `_limit=${limit}&_offset=${offset}`
        const page = await answerData(world, caller, 'attribute', query)
        const rows = await answerData(world, caller, 'attribute', `${query}&_null[id]=false`)
        t.strictSame(told(page), told(rows), query)
      }
})

t.test('1 GET /api/data/:entity an unchanged page is the same buffer, not a copy', async (t) => {
  const world = worldOf({ zone: Array.from({ length: 300 }, (_, at) => ({ name: `Zone ${at}` })) })
  const pieces = async () => {
    const { body } = await answerData(world, plainCaller, 'zone', '_limit=200')
    return 'pieces' in body ? body.pieces : []
  }
  const first = await pieces()
  t.ok(first.length > 2)
  t.ok((await pieces()).every((piece, at) => piece.buffer === first[at]?.buffer))
})
