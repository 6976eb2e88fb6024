import t from 'tap'
import type { Query } from '../../wire/query.ts'
import { readQuery } from '../../wire/read-query.ts'

const limits = { queryBytes: 16_384, conditions: 64, depth: 4, listItems: 1000, patternChars: 1000 }

function read(raw: string): Query {
  return readQuery(raw, limits)
}

const modifiers: [string, Partial<Query>][] = [
  ['', { limit: 1000, offset: 0, order: [], fields: undefined, count: false, isInstance: false }],
  ['_limit=5', { limit: 5 }],
  ['_limit=0', { limit: 1000 }],
  ['_limit=-1', { limit: 1000 }],
  ['_limit=', { limit: 1000 }],
  ['_limit=ten', { limit: 1000 }],
  ['_limit=0.5', { limit: 1000 }],
  ['_limit=10.9', { limit: 10 }],
  ['_limit=10000', { limit: 10_000 }],
  ['_limit=10001', { limit: 10_000 }],
  ['_limit=1e300', { limit: 10_000 }],
  ['_limit=007', { limit: 7 }],
  ['_offset=20', { offset: 20 }],
  ['_offset=-1', { offset: 0 }],
  ['_offset=x', { offset: 0 }],
  ['_orderby=a', { order: [{ column: 'a', isDescending: false }] }],
  [
    '_orderby=a=desc,b',
    {
      order: [
        { column: 'a', isDescending: true },
        { column: 'b', isDescending: false },
      ],
    },
  ],
  [
    '_orderby=a%3DDESC%2Cb=asc',
    {
      order: [
        { column: 'a', isDescending: true },
        { column: 'b', isDescending: false },
      ],
    },
  ],
  [
    '_order=a=desc&_order=b',
    {
      order: [
        { column: 'a', isDescending: true },
        { column: 'b', isDescending: false },
      ],
    },
  ],
  [
    '_orderby=["a=desc","b"]',
    {
      order: [
        { column: 'a', isDescending: true },
        { column: 'b', isDescending: false },
      ],
    },
  ],
  [
    '_orderby[]=a=desc&_orderby[]=b',
    {
      order: [
        { column: 'a', isDescending: true },
        { column: 'b', isDescending: false },
      ],
    },
  ],
  ['_orderby=a,a=desc', { order: [{ column: 'a', isDescending: false }] }],
  ['_count=true', { count: true }],
  ['_count=1', { count: true }],
  ['_count=false', { count: false }],
  ['_count=name', { count: 'name' }],
  ['_instance=true', { isInstance: true }],
  ['%5Finstance=true', { isInstance: true }],
  ['_instance=false', { isInstance: false }],
]

for (const [raw, meaning] of modifiers)
  t.test(`1 Modifiers ${raw === '' ? 'none' : raw}`, async (t) => {
    const query = read(raw)
    for (const [name, value] of Object.entries(meaning)) t.same(query[name as keyof Query], value, name)
  })

t.test('1 Modifiers _fields in all spellings', async (t) => {
  for (const raw of ['id,name', '["id","name"]', 'id&_fields=name', '%5B%22id%22,%22name%22%5D'])
    t.match(read(`_fields=${raw}`).fields, { columns: [{ column: 'id' }, { column: 'name' }], isPlain: true }, raw)
  for (const raw of ['_fields[]=id&_fields[]=name', '_fields[0]=id&_fields[1]=name'])
    t.match(read(raw).fields, { columns: [{ column: 'id' }, { column: 'name' }], isPlain: true, fault: undefined }, raw)
})

t.test('1 Guards 7 a pair in _fields is recognised, however it is spelled', async (t) => {
  for (const raw of [
    '_fields=[["id","x"]]',
    '_fields[0][0]=id&_fields[0][1]=x',
    '_fields[0][]=id&_fields[0][]=x',
    '%5Ffields=[["id","x"]]',
  ])
    t.match(read(raw).fields, { columns: [{ column: 'id', alias: 'x' }], isPlain: false, fault: undefined }, raw)
  for (const raw of [
    '_fields=[1]',
    '_fields={"id":"x"}',
    '_fields=[["id"]]',
    '_fields=[["id","x","y"]]',
    '_fields=[{"id":"x"}]',
    '_fields=[{}]',
    '_fields=[null]',
    '_fields[a]=id',
    '_fields=[[["id"],"x"]]',
  ])
    t.match(read(raw).fields, { isPlain: false, fault: String }, raw)
  t.match(read('_fields=[]').fields, { isPlain: true, fault: '_fields names no column' })
})
