import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { openStartBook, type StartRecord } from '../../../core/machine/restart.ts'
import { keptInMemory } from '../../kept-in-memory.ts'

function setup(before?: StartRecord) {
  const { file, saved } = keptInMemory<StartRecord | undefined>(before)
  const forgotten: number[] = []
  const parts = { clock: fakeClock(), file, bootId: 'one', forget: async () => void forgotten.push(1) }
  return { parts, saved, forgotten }
}

t.test('a start is saved at once, so that a crash is distinguished from a stop', async (t) => {
  const { parts, saved } = setup()
  const book = await openStartBook(parts)
  t.match(book.started, { reason: 'first', startedAt: parts.clock.epochMs(), bootId: 'one' })
  t.match(saved(), { intent: null, isStopped: false })
  t.equal((await openStartBook(parts)).started.reason, 'crash')
  await book.stopped()
  t.equal((await openStartBook(parts)).started.reason, 'service')
})

t.test('the next start reports why the board restarted, and the one after does not', async (t) => {
  const { parts } = setup()
  const book = await openStartBook(parts)
  await book.intend('config')
  await book.stopped()
  const next = await openStartBook(parts)
  t.equal(next.started.reason, 'config')
  t.equal((await openStartBook(parts)).started.reason, 'crash')
})

t.test('a reset is carried out by the next start before anything else is read, once', async (t) => {
  const { parts, forgotten } = setup()
  const book = await openStartBook(parts)
  await book.intend('factory_reset')
  await book.intend('config')
  t.equal((await openStartBook(parts)).started.reason, 'factory_reset', 'a later request does not undo it')
  t.equal(forgotten.length, 1)
  await openStartBook(parts)
  t.equal(forgotten.length, 1)
})

t.test('a reset that is cut off is carried out again', async (t) => {
  const { parts, forgotten } = setup()
  await (await openStartBook(parts)).intend('factory_reset')
  const cut = { ...parts, forget: () => Promise.reject(new Error('the power went')) }
  await t.rejects(openStartBook(cut), { message: 'the power went' })
  await openStartBook(parts)
  t.equal(forgotten.length, 1)
})

t.test('a reset that could not be saved is not saved later by accident', async (t) => {
  const { parts, forgotten } = setup()
  const full = { isFull: false }
  const save = async (record: StartRecord | undefined) => {
    if (full.isFull) throw new Fault('store_write_failed', 'full')
    await parts.file.save(record)
  }
  const book = await openStartBook({ ...parts, file: { load: parts.file.load, save } })
  full.isFull = true
  await t.rejects(book.intend('factory_reset'), { code: 'store_write_failed' })
  full.isFull = false
  await book.stopped()
  t.equal((await openStartBook(parts)).started.reason, 'service')
  t.equal(forgotten.length, 0)
})
