import t from 'tap'
import { elevatedCaller } from './data-house.ts'
import { asked, bodyOf, names } from './guarded-house.ts'

t.test('1 Guards 2 secure attributes are not listed and not counted', async (t) => {
  t.same(names('attribute', ''), ['temperature', 'wifiPassword', 'recorder', 'mode'])
  t.same(bodyOf(asked('attribute', '_count=true')), { count: 4 })
  t.same(names('attribute', 'id=2'), [])
  t.same(names('attribute', 'name=door_code'), [])
  t.same(names('attribute', '_limit=2&_offset=1'), ['wifiPassword', 'recorder'])
  t.same(names('attribute', '_or=[{"secure":true},{"name":"mode"}]'), ['mode'])
  t.same(
    names('attribute', 'target_id=1'),
    ['temperature', 'wifiPassword'],
    'a 1 elsewhere does not ask for secure attributes',
  )
  t.same(names('attribute', '', elevatedCaller).length, 5)
})

t.test('1 Guards 2 a query for secure attributes gets the empty list', async (t) => {
  for (const query of [
    'secure=true',
    'secure=1',
    '_in[secure]=true',
    'secure[_in]=1',
    '_notequal[secure]=false',
    '_gt[secure]=0',
    '_like[secure]=t%25',
    '_between[secure]=1,2',
    '_or=[{"secure":true}]',
    '_or[0][secure]=true&_or[1][secure]=1',
    'secure=true&_count=true',
    '%73ecure=true',
    '_or=[{"secure":true,"name":"mode"}]',
  ])
    t.match(asked('attribute', query), { status: 200, body: { text: '[]' }, reason: 'secure_filtered' }, query)
  for (const query of [
    'secure=false',
    'secure=0',
    '_notequal[secure]=true',
    'secure=true&secure=false',
    '_null[secure]=false',
  ])
    t.match(asked('attribute', query), { status: 200, reason: null }, query)
  t.same(names('attribute', 'secure=true', elevatedCaller), ['door_code'])
})

t.test('1 Guards 2 an attribute with a sensitive name has no values', async (t) => {
  t.match(bodyOf(asked('attribute', 'name=wifiPassword')), [{ value: null, previous_value: null, secure: false }])
  t.match(bodyOf(asked('attribute', 'name=wifiPassword', elevatedCaller)), [{ value: 'hunter2' }])
})

t.test('1 Guards 3 secrets nested in a value are null, the rest of it stays', async (t) => {
  t.match(bodyOf(asked('attribute', 'name=recorder')), [
    { value: '{"host":"nas","sftp":{"password":null}}', previous_value: '{"push signing key":null}' },
  ])
})

t.test('1 Guards 4 a filter on value without a pinned name gives the empty list', async (t) => {
  const conditions = [
    'value=auto',
    '_like[value]=a%25',
    '_in[value]=auto,off',
    '_gt[value]=1',
    '_between[value]=1,2',
    '_contains[value]=a',
    '_notequal[value]=x',
    '_gte[value]=1',
    '_lt[value]=1',
    '_lte[value]=1',
    '_notin[value]=x',
    '_null[value]=false',
    '%76alue=auto',
    'value[_like]=a%25',
    '_like={"value":"a%25"}',
    '_or[0][value]=auto',
    '_or=[{"name":"mode"},{"value":"auto"}]',
    '_orderby=value',
    '_orderby=name,value=desc',
    '_count=value',
  ]
  const pins = [
    '',
    'name=wifiPassword&',
    'name=mode&name=wifiPassword&',
    '_in[name]=mode,wifiPassword&',
    '_like[name]=mode&',
    '_contains[name]=mode&',
    '_notequal[name]=x&',
    '_between[name]=a,z&',
    '_or[7][name]=mode&',
    '_null[name]=false&',
    'name=API%20KEY&',
    '_in={"name":[]}&',
    '_in={"name":[null]}&',
  ]
  for (const condition of conditions)
    for (const pin of pins) {
      const query = `${pin}${condition}`
      t.match(asked('attribute', query), { status: 200, body: { text: '[]' }, reason: 'secure_filtered' }, query)
    }
})

t.test('1 Guards 4 a filter on value with a pinned name is answered', async (t) => {
  for (const query of [
    'name=mode&value=auto',
    'value=auto&name=mode',
    '_in[name]=mode,temperature&value=auto',
    'name=mode&name=temperature&_like[value]=AU%25',
    '_or=[{"name":"mode","value":"auto"}]',
    'name=mode&_or=[{"value":"auto"},{"id":1}]',
    '_or[0][_or][0][value]=auto&_or[0][name]=mode',
    'name=mode&_orderby=value',
    'name=mode&_count=value&_limit=1',
  ])
    t.match(asked('attribute', query), { status: 200, reason: null }, query)
  t.same(names('attribute', 'name=mode&value=auto'), ['mode'])
  t.same(names('attribute', 'name=temperature&_gt[value]=3'), ['temperature'])
  t.same(names('attribute', '_like[value]=a%25', elevatedCaller), ['mode'])
})

t.test('1 Guards 4 a value is compared as the caller sees it', async (t) => {
  t.same(names('attribute', 'name=recorder&_contains[value]=nas'), ['recorder'])
  t.same(names('attribute', 'name=recorder&_contains[value]=%22p%22'), [])
  t.same(names('attribute', 'name=recorder&_contains[value]=null'), ['recorder'])
  t.same(names('attribute', 'name=door_code&_contains[value]=4'), [])
})

t.test('1 Guards 4 a filter on previous_value is refused outright', async (t) => {
  for (const query of [
    'previous_value=1',
    'name=mode&previous_value=off',
    '_like[previous_value]=a',
    '_or[0][previous_value]=x',
    '_orderby=previous_value',
    '_count=previous_value',
    '_null[previous_value]=true',
    '%70revious_value=1',
  ])
    t.match(
      asked('attribute', query),
      { status: 400, body: { json: { error: 'invalid query' } }, reason: 'redacted_filter' },
      query,
    )
  t.match(asked('attribute', 'previous_value=off', elevatedCaller), { status: 200, reason: null })
})
