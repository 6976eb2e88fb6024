/** Tests of core/site/book.ts. */
import fc from 'fast-check'
import { t } from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { holds } from '#kit/test/holds.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createBook, type Row, type WritableBook } from '../../../core/site/book.ts'
import { siteTables } from '../../../core/site/registry.ts'
import { checkSite } from '../../../core/site/site-file.ts'
import { limits, siteOf, worldOf } from '../../site-world.ts'
import { hostStage } from '../drivers/host-stage.ts'

const row = (id: number, name: string, more = {}): Row => ({ id, name, ...more })

t.test('rows are in order of id, and are the same list until the table changes', async (t) => {
  const book = createBook()
  book.replace('zone', [row(3, 'c'), row(1, 'a')])
  const before = book.rows('zone')
  t.same(
    before.map(({ id }) => id),
    [1, 3],
  )
  t.equal(book.rows('zone'), before)
  book.put('zone', row(2, 'b'))
  t.same(
    book.rows('zone').map(({ id }) => id),
    [1, 2, 3],
  )
  t.same(
    before.map(({ id }) => id),
    [1, 3],
    'the earlier list is unchanged',
  )
})

t.test('a list that was returned stays as it was, whatever is put or removed', async (t) => {
  const changes = {
    'a row in its place': (book: WritableBook) => book.put('zone', row(1, 'x')),
    'a row behind all': (book: WritableBook) => book.put('zone', row(9, 'x')),
    'a row that goes': (book: WritableBook) => book.remove('zone', 1),
  }
  for (const [title, change] of Object.entries(changes)) {
    const book = createBook()
    book.replace('zone', [row(1, 'a'), row(3, 'c')])
    const before = book.rows('zone')
    change(book)
    t.same(before, [row(1, 'a'), row(3, 'c')], title)
  }
})

t.test('a row that is put is found by its new name and not by its old one', async (t) => {
  const book = createBook()
  book.replace('zone', [row(1, 'a'), row(2, 'a')])
  t.same(
    book.named('zone', 'a').map(({ id }) => id),
    [1, 2],
  )
  book.put('zone', row(1, 'a', { level: 5 }))
  t.equal(book.named('zone', 'a')[0]?.level, 5)
  book.put('zone', row(1, 'b'))
  t.same(
    book.named('zone', 'a').map(({ id }) => id),
    [2],
  )
  t.same(
    book.named('zone', 'b').map(({ id }) => id),
    [1],
  )
  book.remove('zone', 2)
  t.same(book.named('zone', 'a'), [])
})

t.test('a revision grows only with changes of its own table', async (t) => {
  const book = createBook()
  book.put('zone', row(1, 'a'))
  const first = book.revision('zone')
  book.put('device', row(1, 'd'))
  book.remove('zone', 7)
  t.equal(book.revision('zone'), first)
  book.remove('zone', 1)
  t.ok(book.revision('zone') > first)
})

t.test('names from outside find nothing', async (t) => {
  const book = createBook()
  book.put('zone', row(1, 'a'))
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'nowhere']) {
    t.same(book.rows(name), [])
    t.same(book.named('zone', name), [])
    t.equal(book.row(name, 1), undefined)
    t.equal(book.revision(name), 0)
  }
})

t.test('whatever is put and removed, the book behaves like a plain map', async (t) => {
  const step = fc.record({ id: fc.integer({ min: 1, max: 8 }), name: fc.constantFrom('a', 'b', undefined) })
  holds(
    t,
    fc.property(fc.array(step), (steps) => {
      const book = createBook()
      const model = new Map<number, Row>()
      for (const { id, name } of steps) {
        if (name === undefined) {
          book.remove('zone', id)
          model.delete(id)
        } else {
          book.put('zone', row(id, name))
          model.set(id, row(id, name))
        }
        const rows = [...model.values()].sort((a, b) => a.id - b.id)
        const same = JSON.stringify(book.rows('zone')) === JSON.stringify(rows)
        const named = JSON.stringify(rows.filter((one) => one.name === 'a'))
        if (!same || JSON.stringify(book.named('zone', 'a')) !== named) return false
        if (JSON.stringify(book.row('zone', id)) !== JSON.stringify(model.get(id))) return false
      }
      return true
    }),
  )
})

/** A site file with four tables of increasingly long names; every row has `other`. */
function siteOfRows(rows: number, other = 'a') {
  const list = <Value>(length: number, value: (at: number) => Value) => Array.from({ length }, (_, at) => value(at))
  const device = list(rows / 4, (at) => ({
    name: `device ${at}`,
    driver: 'fake',
    model: other,
    config: { [other]: at },
  }))
  const zone = list(rows / 2, (at) => ({ name: `zone ${at}`, device_id: `device ${at >> 1}`, type: other }))
  const target = { system_target: 'controller', value: other }
  const attribute = list(rows / 4, (at) => ({ name: `attribute ${at}`, ...target }))
  return JSON.parse(JSON.stringify({ device, zone, attribute }))
}

t.test(
  'rows of a site, with drivers of all its devices and their values, take no more than their row says',
  async (t) => {
    const rows = 2000
    let opened = 0
    const bytes = await heapBytesOf(async () => {
      const book = await siteOf(siteOfRows(rows), rows)
      const [devices, zones] = [book.rows('device'), book.rows('zone')]
      const stage = hostStage({ devices, zones, limits: { opening: 1000 } })
      stage.host.refresh()
      for (let turn = 0; turn < 100 && stage.opened.length < devices.length; turn++) await stage.clock.run(10)
      opened = stage.opened.length
      for (const { id } of zones) stage.live.report({ zoneId: id }, { state: 'ok', level: id })
      book.named('zone', 'zone 1')
      return [book, stage]
    })
    t.equal(opened, rows / 4)
    const all = siteBytes(rows, rows / 4)
    t.ok(bytes < all, `${bytes} bytes, of ${all}`)
  },
)

/** The memory plan's figure for this many rows and devices. */
function siteBytes(rows: number, devices: number): number {
  const settings = { 'site.rows': rows, 'site.devices': devices }
  return ['the site: rows', 'what drives devices']
    .map((what) => rowOf(memoryPlan().rows, what, settings).allBytes)
    .reduce((sum, bytes) => sum + bytes)
}

t.test('rows of a single kind, devices and users too, take no more than their rows say', async (t) => {
  const count = 1000
  const list = (rowAt: (at: number) => object) => Array.from({ length: count }, (_, at) => rowAt(at))
  const kinds: Record<string, object> = {
    device: list((at) => ({ name: `device ${at}`, driver: 'fake', model: 'm', config: { at } })),
    zone: list((at) => ({ name: `zone ${at}`, type: 'light' })),
    attribute: list((at) => ({ name: `attribute ${at}`, system_target: 'controller', value: `${at}` })),
    macro: list((at) => ({ name: `macro ${at}` })),
    auth_user: list((at) => ({
      ...{ username: `user ${at}`, email: `user${at}@example.org` },
      ...{ hash: `${at}`.padEnd(128, 'h'), salt: `${at}`.padEnd(64, 's') },
    })),
  }
  for (const [kind, rows] of Object.entries(kinds)) {
    const bytes = await heapBytesOf(async () => {
      const book = await siteOf(JSON.parse(JSON.stringify({ [kind]: rows })), count)
      const stage = hostStage({ devices: book.rows('device'), zones: book.rows('zone'), limits: { opening: 1000 } })
      stage.host.refresh()
      for (let turn = 0; turn < 100 && stage.opened.length < book.rows('device').length; turn++)
        await stage.clock.run(10)
      for (const { id } of book.rows('zone')) stage.live.report({ zoneId: id }, { state: 'ok', level: id })
      for (const { name } of siteTables()) book.named(name, 'x')
      return [book, stage]
    })
    const all = siteBytes(count, kind === 'device' ? count : 0)
    t.ok(bytes < all, `${kind}: ${bytes / count} bytes a row, of ${all / count}`)
  }
})

t.test('changes of a whole site take no more extra memory than their row says', async (t) => {
  const rows = 2000
  const world = { limits: { ...limits, rows, devices: rows, jsonChars: 1000 * rows } }
  for (const [title, before] of Object.entries({ 'all rows are new': {}, 'all rows are others': siteOfRows(rows) })) {
    const book = await siteOf(before, rows)
    let count = 0
    const bytes = await heapBytesOf(async () => {
      const changes = await checkSite(siteOfRows(rows, 'b'), worldOf(book, world))
      count = changes.length
      return changes
    })
    t.equal(count, rows, title)
    const row = rowOf(memoryPlan().rows, 'changes of a whole site', { 'site.rows': rows })
    t.ok(bytes < row.allBytes, `${title}: ${bytes / rows} bytes a row, of ${row.eachBytes}`)
  }
})
