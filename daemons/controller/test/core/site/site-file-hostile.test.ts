/** Tests of core/site: documents that are hostile, or look like it. */
import { t } from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { charsOf, type Json } from '../../../core/json.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { faultsOf, limits, siteOf, take } from '../../site-world.ts'

t.test('parents that form a cycle are a fault, however long the way into it', async (t) => {
  const zone_group = [
    { id: 1, name: 'a', parent_id: 'b' },
    { id: 2, name: 'b', parent_id: 3 },
    { id: 3, name: 'c', parent_id: 2 },
    { id: 4, name: 'd', parent_id: 4 },
    { id: 5, name: 'e', parent_id: 1 },
  ]
  t.same(await faultsOf({ zone_group }), [
    'zone_group[1].parent_id: goes round in a circle: 2 -> 3 -> 2',
    'zone_group[3].parent_id: goes round in a circle: 4 -> 4',
  ])
})

t.test('a fault never shows a password', async (t) => {
  const hidden = 'hunter2hunter2'
  const found = await faultsOf({
    auth_user: [
      { username: 'a', password: [hidden], hash: { hidden }, pin: [hidden] },
      { username: 'b', password: hidden, salt: 's' },
    ],
    device: [
      {
        name: 'd',
        password: `\0${hidden}`,
        api_key: { hidden },
        enabled: hidden,
        poll_ms: hidden,
        parent_id: { hidden },
      },
    ],
  })
  t.equal(found.length, 9)
  t.notMatch(found.join(), hidden)
})

t.test('text that the store could not return unchanged is refused', async (t) => {
  const found = await faultsOf({
    site: [{ name: 'a\0b' }, { name: '\ud800' }],
    device: [{ name: 'x', config: { n: Number.POSITIVE_INFINITY } }],
  })
  t.same(found, [
    'site[0].name: holds a character NUL',
    'site[1].name: holds half of a surrogate pair',
    'device[0].config: holds a number that is too large',
  ])
})

t.test('keys that objects inherit are unknown keys', async (t) => {
  const document = JSON.parse(
    '{"__proto__": [], "constructor": [], "zone": [{"name": "a", "__proto__": 1, "toString": 2, "device_id": {"__proto__": {"name": "x"}}}]}',
  )
  t.same(
    (await faultsOf(document)).map((fault) => fault.split(':')[0]),
    ['__proto__', 'constructor', 'zone[0].__proto__', 'zone[0].toString', 'zone[0].device_id'],
  )
  t.same(await faultsOf({ zone: [{ name: 'constructor' }, { name: '__proto__' }], ui_zone: [] }), [])
})

t.test('rows, levels and faults are limited', async (t) => {
  const many = (length: number) => Array.from({ length }, (_, n) => ({ name: `${n}` }))
  t.same(await faultsOf({ zone: many(600), device: many(401) }), ['device: more than 1000 rows in all'])
  let deep: unknown = 1
  for (let level = 0; level < 50_000; level++) deep = [deep]
  t.same(await faultsOf({ device: [{ name: 'x', config: deep }] }), [
    'device[0].config: is nested deeper than 8 levels',
  ])
  await t.rejects(take({ zone: Array.from({ length: 300 }, () => 1) }), {
    code: 'site_faults',
    message: /has 300 faults/,
    details: { more: 300 - limits.faults },
  })
})

t.test('a document that is not an object of lists is a fault', async (t) => {
  for (const document of [null, 7, 'x', [], true])
    t.equal((await faultsOf(document)).length, 1, JSON.stringify(document))
  t.same(await faultsOf({}), [])
})

t.test('a text and a JSON column are limited in length', async (t) => {
  const attribute = (value: unknown) => ({ attribute: [{ name: 'a', system_target: 'controller', value }] })
  t.equal((await take(attribute('x'.repeat(10_000)))).length, 1)
  t.same(await faultsOf(attribute('x'.repeat(10_001))), [
    'attribute[0].value: has 10001 characters, at most 10000 are taken',
  ])
  t.same(await faultsOf({ device: [{ name: 'd', config: { list: Array(5000).fill(1) } }] }), [
    'device[0].config: has 10010 characters, at most 10000 are taken',
  ])
})

t.test('a site of many small files is limited like one of a single file', async (t) => {
  const zones = (from: number) => ({ zone: Array.from({ length: 600 }, (_, at) => ({ name: `zone ${from + at}` })) })
  const book = await siteOf(zones(0))
  t.same(await faultsOf(zones(600), book, { mode: 'merge' }), [
    ': the site would have 1200 rows, at most 1000 are taken',
  ])
  const more = { limits: { ...limits, devices: 2 } }
  const device = ['a', 'b', 'c'].map((name) => ({ name }))
  t.same(await faultsOf({ device }, undefined, more), [': the site would have 3 devices, at most 2 are taken'])
})

t.test('JSON columns of a site take no more memory than their row says, whatever they hold', async (t) => {
  const jsonChars = 400_000
  const list = (count: number, value: (at: number) => Json) => Array.from({ length: count }, (_, at) => value(at))
  const kinds: Record<string, (at: number) => Json> = {
    'a long text': (at) => `${at}`.padEnd(2000, 'ж'),
    figures: (at) => list(100, (place) => at + place + 0.5),
    'empty objects': () => list(100, () => ({})),
    'objects of a name of their own': (at) => list(100, (place) => ({ [`${at}-${place}`]: {} })),
    'a number as name': (at) => list(100, (place) => ({ [(at + place) % 1000]: 0, pin: null })),
  }
  const { allBytes } = rowOf(memoryPlan().rows, 'JSON columns of the site', { 'site.json_chars': jsonChars })
  for (const [title, value] of Object.entries(kinds)) {
    const count = Math.floor(jsonChars / charsOf({ list: value(1) }) / 1.01)
    const siteWith = (config: (at: number) => Json) => ({
      device: list(count, (at) => ({ name: `device ${at}`, config: config(at) })),
    })
    const here = { limits: { ...limits, jsonChars } }
    const bytesOf = (config: (at: number) => Json) =>
      heapBytesOf(() => take(JSON.parse(JSON.stringify(siteWith(config))), undefined, here))
    const bytes = (await bytesOf((at) => ({ list: value(at) }))) - (await bytesOf(() => null))
    t.ok(bytes < allBytes, `${title}: ${bytes} bytes, of ${allBytes}`)
    const tooMany = { limits: { ...limits, jsonChars: jsonChars / 2 } }
    const found = await faultsOf(
      siteWith((at) => ({ list: value(at) })),
      undefined,
      tooMany,
    )
    t.match(found, [/characters in JSON columns, at most 200000 are taken$/])
  }
})
