import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { createMacroBook, KEPT_PLANS } from '../../../core/macros/plan.ts'
import { MACRO_LIMITS } from '../../../core/macros/values.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { Row } from '../../../core/site/book.ts'
import { bookOf } from './macro-rig.ts'

const pause = { type: 'delay', args: { ms: 1 } }

t.test('a macro is read once while its rows stay the same; the least recently used one is read again', (t) => {
  const names = Array.from({ length: KEPT_PLANS + 1 }, (_, at) => `Macro ${at}`)
  const macros = createMacroBook(bookOf(names.map((name) => ({ name, steps: [pause] }))), MACRO_LIMITS)
  const plan = (name: string) => macros.plan(macros.find({ name }) as Row)
  const first = plan('Macro 0')
  const second = plan('Macro 1')
  t.equal(plan('Macro 0'), first, 'known')
  for (const name of names) if (name !== 'Macro 1') plan(name)
  t.equal(plan('Macro 0'), first, 'asked for since')
  t.not(plan('Macro 1'), second)
  t.same(plan('Macro 1'), second)
  t.end()
})

t.test('plans that are kept take no more than their row says', async (t) => {
  const limits = { ...MACRO_LIMITS, planChars: 60_000 }
  const step = (at: number) => ({ type: 'set', args: { attribute: `a${at}`, value: at, zone_id: 1 } })
  const rows = bookOf(
    Array.from({ length: 2 * KEPT_PLANS }, (_, at) => ({
      name: `${at}`,
      steps: Array.from({ length: 220 }, (_, at) => step(at)),
    })),
  )
  const bytes = await heapBytesOf(() => {
    const macros = createMacroBook(rows, limits)
    for (const row of rows.rows('macro')) macros.plan(row)
    return macros
  })
  const row = rowOf(memoryPlan().rows, 'plans of macros', { 'macros.plan_chars': limits.planChars })
  t.ok(bytes < row.allBytes, `${bytes} bytes of ${row.allBytes}`)
  t.ok(bytes > row.allBytes / 10, 'and the row is filled')
})
