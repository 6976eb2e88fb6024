import t from 'tap'
import { where } from './query-lines.ts'

const same: [string, readonly string[], unknown[]][] = [
  [
    'a column is equal',
    [
      'name=Hall',
      'name%3DHall'.replace('%3D', '='),
      '%6Eame=Hall',
      'name=%48all',
      '_in[name]=Hall',
      'name[_in]=Hall',
      '_in={"name":"Hall"}',
      'name[]=Hall',
      'name[0]=Hall',
    ],
    [['name', 'in', 'Hall']],
  ],
  [
    'a repeated column is any of them',
    [
      'id=1&id=2',
      'id[]=1&id[]=2',
      'id[0]=1&id[1]=2',
      '_in[id]=1,2',
      '_in[id]=1%2C2',
      '_in[id]=[1,2]',
      '_in[id]=1&_in[id]=2',
      '_in[id][]=1&_in[id][]=2',
      '_in={"id":[1,2]}',
      '_in={"id":"1,2"}',
      'id[_in]=1,2',
      '%5Fin%5Bid%5D=1,2',
    ],
    [['id', 'in', 1, 2]],
  ],
  [
    'greater',
    ['_gt[id]=5', 'id[_gt]=5', '_gt={"id":5}', '_gt=%7B%22id%22%3A5%7D', '%5fgt%5bid%5d=5'],
    [['id', 'gt', 5]],
  ],
  ['greater or equal', ['_gte[id]=5', 'id[_gte]=5', '_gte={"id":5}'], [['id', 'gte', 5]]],
  ['less', ['_lt[id]=5', 'id[_lt]=5', '_lt={"id":5}'], [['id', 'lt', 5]]],
  ['less or equal', ['_lte[id]=5', 'id[_lte]=5', '_lte={"id":5}'], [['id', 'lte', 5]]],
  [
    'between',
    [
      '_between[id]=1,5',
      'id[_between]=1,5',
      '_between={"id":[1,5]}',
      '_between={"id":"1,5"}',
      '_between[id]=[1,5]',
      '_between[id]=1&_between[id]=5',
    ],
    [['id', 'between', 1, 5]],
  ],
  ['different', ['_notequal[id]=5', 'id[_notequal]=5', '_notequal={"id":5}'], [['id', 'notequal', 5]]],
  ['none of', ['_notin[id]=1,5', 'id[_notin]=1,5', '_notin={"id":[1,5]}'], [['id', 'notin', 1, 5]]],
  ['like', ['_like[name]=H%25', 'name[_like]=H%25', '_like={"name":"H%25"}'], [['name', 'like', 'H%']]],
  ['contains', ['_contains[name]=a', 'name[_contains]=a', '_contains={"name":"a"}'], [['name', 'contains', 'a']]],
  [
    'null',
    ['_null[name]=true', 'name[_null]=true', '_null={"name":true}', '_null[name]=1', '_null={"name":1}'],
    [['name', 'null', true]],
  ],
  [
    'or',
    [
      '_or=[{"id":1},{"_gt":{"id":5}}]',
      '_or[0][id]=1&_or[1][_gt][id]=5',
      '_or[0][id]=1&_or[1][id][_gt]=5',
      '_or[7][id]=1&_or[9][_gt][id]=5',
      '_or=[{"id":1},{"id":{"_gt":5}}]',
      '_or[0][id]=1&_or[1][_gt]={"id":5}',
    ],
    [{ or: [[['id', 'in', 1]], [['id', 'gt', 5]]] }],
  ],
  [
    'or within or',
    [
      '_or=[{"_or":[{"id":1},{"id":2}]},{"id":3}]',
      '_or[0][_or][0][id]=1&_or[0][_or][1][id]=2&_or[1][id]=3',
      '_or[0][_or]=[{"id":1},{"id":2}]&_or[1][id]=3',
    ],
    [{ or: [[{ or: [[['id', 'in', 1]], [['id', 'in', 2]]] }], [['id', 'in', 3]]] }],
  ],
]

for (const [title, spellings, meaning] of same)
  t.test(`1 Modifiers ${title}: every spelling means the same`, async (t) => {
    for (const raw of spellings) t.same(where(raw), meaning, raw)
  })

t.test('1 Modifiers all conditions of one part of _or must hold, and so must both of two _or arrays', async (t) => {
  t.same(where('_or=[{"id":1,"name":"a"}]'), [
    {
      or: [
        [
          ['id', 'in', 1],
          ['name', 'in', 'a'],
        ],
      ],
    },
  ])
  t.same(where('_or=[{"id":1}]&_or=[{"id":2}]'), [{ or: [[['id', 'in', 1]]] }, { or: [[['id', 'in', 2]]] }])
})
