import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { anyText } from '#kit/test/any-text.ts'
import { holds } from '#kit/test/holds.ts'
import { read, where } from './query-lines.ts'

function code(raw: string): string {
  try {
    read(raw)
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
  return 'none'
}

t.test('1 GET /api/data/:entity a value that parses as a number is converted', async (t) => {
  const numbers: [string, number][] = [
    ['007', 7],
    ['-3', -3],
    ['%2B3', 3],
    ['1.50', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['1E-2', 0.01],
    ['0', 0],
  ]
  for (const [text, number] of numbers) t.same(where(`a=${text}`), [['a', 'in', number]], text)
  const texts = [
    '',
    '0x10',
    'Infinity',
    '-Infinity',
    'NaN',
    '1e999',
    '1_000',
    '%207',
    '7%20',
    '+7',
    '1e',
    'e5',
    '.',
    '--1',
    '0b1',
    '1n',
    '%D9%A3',
  ]
  for (const text of texts) t.equal(typeof read(`a=${text}`).where.conditions[0]?.values[0], 'string', text)
})

t.test('1 GET /api/data/:entity a number keeps all its digits when it is compared as a text', async (t) => {
  const text = (raw: string) => {
    const value = read(raw).where.conditions[0]?.values[0]
    return typeof value === 'object' ? value?.text : value
  }
  t.equal(text('a=007'), '7')
  t.equal(text('a=-000'), '0')
  t.equal(text('a=-05'), '-5')
  t.equal(text('a=0012345678901234567890'), '12345678901234567890')
  t.equal(text('a=1.50'), '1.5')
  t.equal(text('_in={"a":["007"]}'), '007', 'a text of JSON stays a text')
})

t.test('1 Modifiers lists are split at commas, but not inside an element of an array', async (t) => {
  t.same(where('_in[a]=x,,y'), [['a', 'in', 'x', '', 'y']])
  t.same(where('_in={"a":["x,y"]}'), [['a', 'in', 'x,y']])
  t.same(where('_in[a]=["x,y",null,true,2]'), [['a', 'in', 'x,y', null, true, 2]])
  t.same(where('_in[a][]=x,y'), [['a', 'in', 'x,y']])
  t.same(where('a=x,y'), [['a', 'in', 'x,y']])
  t.same(where('_in={"a":[]}'), [['a', 'in']])
})

t.test('1 Modifiers names from outside are only names, whatever they are', async (t) => {
  for (const name of ['__proto__x', 'constructor', 'hasOwnProperty', 'toString'])
    t.same(where(name.startsWith('_') ? `_gt[${name}]=1` : `${name}=1`).length, 1, name)
  t.same(where('_gt={"__proto__":1}'), [['__proto__', 'gt', 1]])
  t.same(where('_gt[__proto__][]=1'), [['__proto__', 'gt', 1]])
  t.equal(code('__proto__=1'), 'query_unknown_name')
  t.equal(code('a[__proto__]=1'), 'query_unknown_name')
  t.equal(code('a[constructor]=1'), 'query_unreadable')
  t.equal(({} as Record<string, unknown>).polluted, undefined)
})

t.test('1 Modifiers any other name that begins with _ is reported, also in other case, and nested', async (t) => {
  const raws = [
    '_foo=1',
    '_LIKE[a]=1',
    '_Limit=1',
    '_=1',
    'a[_Gt]=1',
    '_and=[{"a":1}]',
    '_or[0][_limit]=1',
    '_or=[{"_count":true}]',
    '%5flimits=1',
    '_gt%00[a]=1',
  ]
  for (const raw of raws) t.equal(code(raw), 'query_unknown_name', raw)
})

t.test('1 GET /api/data/:entity a query that cannot be parsed is reported', async (t) => {
  const raws = [
    'a=%',
    'a=%4',
    'a=%zz',
    'a=%ff',
    'a=%c0%80',
    'a=%ed%a0%80',
    '%=1',
    'a=\u00e9',
    'a=b c',
    'a=\u0000',
    'a=\ud800',
    'a',
    '=1',
    '[a]=1',
    'a[=1',
    'a]=1'.replace(']', '[x'),
    'a[b]c=1',
    'a[[b]]=1',
    'a[b=1',
    'a[b]=1',
    '_gt=5',
    '_gt=',
    '_gt={}',
    '_gt=[1]',
    '_gt={"a":1',
    '_gt={"a":{}}',
    '_gt={"a":{"b":1}}',
    '_gt[a]=1&_gt[a]=2',
    '_gt[a][b]=1',
    '_between[a]=1',
    '_between[a]=1,2,3',
    '_null[a]=maybe',
    '_null[a]=true&_null[a]=false',
    '_like={"a":true}',
    '_like={"a":null}',
    '_like={"a":[]}'.replace('[]', '[[]]'),
    '_in[a]=[[1]]',
    '_in[a]=[1',
    '_or=1',
    '_or={}',
    '_or=[]',
    '_or=[{}]',
    '_or=[1]',
    '_or=[[]]',
    '_or[0]=1',
    '_or[a][b]=1',
    '_or[][a]=1',
    '_or=[{"a":{}}]',
    '_or',
    '_limit=1&_limit=2',
    '_limit[a]=1',
    '_count',
    '_count=',
    '_instance=yes',
    '_instance=true&_instance=false',
    '_orderby=a=up',
    '_orderby=a=desc=asc',
    '_orderby[a]=desc',
    '_orderby=[1]',
    '_fields=[',
  ]
  for (const raw of raws) t.equal(code(raw), 'query_unreadable', JSON.stringify(raw))
  t.equal(code('a=1&&b=2&'), 'none', 'empty parts are ignored')
})

t.test('1 Limits a query is limited in bytes, conditions, depth, items and patterns', async (t) => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `c${at}=1`).join('&')
  t.equal(code(many(64)), 'none')
  t.equal(code(many(65)), 'query_unreadable')
  t.equal(code(`a=${'x'.repeat(16_382)}`), 'none')
  t.equal(code(`a=${'x'.repeat(16_383)}`), 'query_unreadable')
  t.equal(code(`_in[a]=${'1,'.repeat(999)}1`), 'none')
  t.equal(code(`_in[a]=${'1,'.repeat(1000)}1`), 'query_unreadable')
  t.equal(code(`_like[a]=${'x'.repeat(1000)}`), 'none')
  t.equal(code(`_like[a]=${'x'.repeat(1001)}`), 'query_unreadable')
  const deep = (count: number) => `${'_or[0]'.replace('_', '_')}${'[_or][0]'.repeat(count - 1)}[a]=1`
  t.equal(code(deep(4)), 'none')
  t.equal(code(deep(5)), 'query_unreadable')
  t.equal(code(`_or=${'['.repeat(8000)}`), 'query_unreadable')
  t.equal(code(`_or=${'['.repeat(5000)}${']'.repeat(5000)}`), 'query_unreadable')
  t.equal(code(`a${'[0]'.repeat(5000)}=1`), 'query_unreadable')
})

t.test('1 GET /api/data/:entity any text is parsed or refused with a fault', async (t) => {
  const piece = fc.constantFrom(
    'a',
    '_gt',
    '_or',
    '[',
    ']',
    '0',
    '=',
    '&',
    '%',
    '%5B',
    '{',
    '}',
    '"a"',
    ':',
    ',',
    '_fields',
    '_in',
    '1',
    '+',
    'null',
    '__proto__',
  )
  const raw = fc.oneof(
    anyText(),
    fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join('')),
  )
  holds(
    t,
    fc.property(raw, (raw) => ['none', 'query_unreadable', 'query_unknown_name'].includes(code(raw))),
    { numRuns: 2000 },
  )
})

t.test('1 GET /api/data/:entity parsing a hostile query takes time in proportion to its length', async (t) => {
  const raws = [
    `a=${'1'.repeat(16_000)}x`,
    `_or=[${'{"a":1},'.repeat(1500)}{"a":1}]`,
    `a=${'%41'.repeat(5000)}`,
    '&'.repeat(16_000),
    `_fields=${'a,'.repeat(8000)}a`,
    `_orderby=${'a,'.repeat(8000)}a`,
  ]
  const before = process.cpuUsage()
  for (const raw of raws) code(raw)
  t.ok(process.cpuUsage(before).user < 500_000)
})
