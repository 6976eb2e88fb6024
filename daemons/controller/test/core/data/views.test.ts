/** Caching of rows. */
import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createBlocks, createReady, jsonOf, registryFace } from '../../../core/data/views.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { Row } from '../../../core/site/book.ts'
import { worldOf } from './data-house.ts'

const ROWS = 20_000
/** Names of secrets: callers who are not elevated see other values than those who are. */
const attributes = Array.from({ length: ROWS }, (_, at) => ({
  ...{ name: 'api_key', value: `${at}`, previous_value: `${at + 1}`, type: 'text', secure: false },
  ...{ system_target: 'zone', target_id: at, unit: null, changed_at: at },
}))

/** All rows as both kinds of caller see them, page by page. */
function seenByAll(world: ReturnType<typeof worldOf>, readyBytes: number) {
  const blocks = createBlocks(createReady(readyBytes))
  const table = world.schema.table('attribute')
  if (!table) throw new Error('there is no such table')
  const rows: readonly Row[] = world.book.rows('attribute')
  return [true, false].map((isElevated) => {
    const viewAt = world.views.byPlace(table, rows, isElevated)
    const blockAt = blocks.byPlace(table, rows, isElevated, viewAt)
    for (let at = 0; at < rows.length; at += 128) {
      const block = blockAt(at)
      block.bytes(0, block.shown)
    }
    return { viewAt, blockAt, texts: () => rows.map((_, at) => jsonOf(viewAt(at), table)) }
  })
}

t.test('rows cached for both kinds of caller, and prepared blocks, take no more than their rows say', async (t) => {
  const readyBytes = 1_048_576
  const views = rowOf(memoryPlan().rows, 'rows as callers see them', { 'site.rows': ROWS })
  const ready = rowOf(memoryPlan().rows, 'rows that stand ready', { 'data.ready_bytes': readyBytes })
  const taken = await heapBytesOf(() => seenByAll(worldOf({ attribute: attributes }, { readyBytes }), readyBytes))
  const rows = await heapBytesOf(() => worldOf({ attribute: attributes }, { readyBytes }))
  t.comment(`${((taken - rows) / ROWS).toFixed(0)} bytes a row`)
  // The blocks here have a limit of their own besides that of the views.
  t.ok(taken - rows <= views.allBytes + 2 * ready.allBytes, `${taken - rows}`)
})

t.test('an evicted block is written again, unchanged', async (t) => {
  const small = worldOf({ attribute: attributes.slice(0, 500) }, { readyBytes: 4096 })
  const large = worldOf({ attribute: attributes.slice(0, 500) })
  const [ofSmall, ofLarge] = [seenByAll(small, 4096), seenByAll(large, 16_777_216)]
  for (const kind of [0, 1]) {
    t.same(ofSmall[kind]?.texts(), ofLarge[kind]?.texts())
    t.same(ofSmall[kind]?.blockAt(128).bytes(3, 9), ofLarge[kind]?.blockAt(128).bytes(3, 9))
  }
  t.not(ofLarge[0]?.texts().join(), ofLarge[1]?.texts().join())
})

t.test('rows from the disk are not cached', async (t) => {
  const world = worldOf({ attribute: attributes.slice(0, 1) })
  const [row] = world.book.rows('attribute')
  const table = world.schema.table('attribute')
  if (!row || !table) throw new Error('there is no row')
  for (const isElevated of [true, false]) {
    const view = world.views.passing(table, row, isElevated)
    t.equal(jsonOf(view, table), jsonOf(world.views.view(table, row, isElevated), table))
    t.equal(view.json, undefined)
  }
})

t.test('what is between a person and the page is a column of no query', async (t) => {
  const users = registryFace().table('auth_user')
  t.ok(users?.columns.has('language'))
  t.notOk(users?.columns.has('favourites'))
})
