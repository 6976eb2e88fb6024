/** Tests of core/peers/peers.ts. */
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { KeptPeer } from '../../../core/peers/peer.ts'
import { createPeerBook } from '../../../core/peers/peers.ts'
import { keptInMemory } from '../../kept-in-memory.ts'
import { heard, peerRig } from './peer-rig.ts'

const SAVE_MS = 600_000

/** A table whose boards are saved. */
function bookRig() {
  const rig = peerRig()
  const memory = keptInMemory<readonly KeptPeer[]>([])
  let saves = 0
  const file = {
    load: memory.file.load,
    async save(kept: readonly KeptPeer[]) {
      await memory.file.save(kept)
      saves++
    },
  }
  const parts = { clock: rig.clock, log: silentLog, saveMs: SAVE_MS, kept: () => rig.table.kept() }
  const book = createPeerBook({ ...parts, file })
  return { ...rig, ...memory, parts, book, saves: () => saves }
}

t.test('a board that was found is saved, and again when its name changes, but not for each answer', async (t) => {
  const { appear, book, clock, saved, saves } = bookRig()
  t.same(await book.open(), [])
  appear(heard(2))
  await clock.run(1000)
  book.changed()
  await clock.run(5000)
  t.match(saved(), [{ id: heard(2).id, claim: { name: 'Board 2' }, proven: { address: '10.0.0.2', port: 80 } }])
  for (let count = 0; count < 50; count++) {
    await clock.run(3000)
    book.changed()
  }
  t.equal(saves(), 1)
  appear(heard(2, { texts: { name: 'Cellar' } }))
  book.changed()
  await clock.run(5000)
  t.equal(saves(), 2)
  t.match(saved(), [{ claim: { name: 'Cellar' } }])
})

t.test(
  'the time boards were last heard is saved now and then, and at the end; if nobody answers nothing is saved',
  async (t) => {
    const { answers, appear, book, clock, saved, saves } = bookRig()
    await book.open()
    appear(heard(2))
    await clock.run(1000)
    book.changed()
    await clock.run(SAVE_MS + 5000)
    t.equal(saves(), 2)
    const midway = saved()[0]?.answeredAt ?? 0
    await clock.run(60_000)
    await book.close()
    t.equal(saves(), 3)
    t.ok((saved()[0]?.answeredAt ?? 0) - midway > 50_000)
    const quiet = bookRig()
    await quiet.book.open()
    quiet.appear(heard(2))
    await quiet.clock.run(1000)
    answers.clear()
    quiet.answers.clear()
    await quiet.clock.run(2 * SAVE_MS)
    const before = quiet.saves()
    await quiet.clock.run(20 * SAVE_MS)
    t.equal(quiet.saves(), before)
  },
)

t.test('a damaged memory does not prevent a start, and is written again', async (t) => {
  const { appear, clock, parts, saved, file } = bookRig()
  const load = () => Promise.reject(new Fault('store_damaged', 'it is not JSON'))
  const book = createPeerBook({ ...parts, file: { ...file, load } })
  t.same(await book.open(), [])
  appear(heard(2))
  await clock.run(1000)
  book.changed()
  await clock.run(5000)
  t.equal(saved().length, 1)
})

t.test('a failed save is repeated at the end', async (t) => {
  const { appear, book, clock, fail, saved } = bookRig()
  await book.open()
  fail(new Fault('store_write_failed', 'the disk is full'))
  appear(heard(2))
  await clock.run(1000)
  book.changed()
  await clock.run(5000)
  t.same(saved(), [])
  fail(undefined)
  await book.close()
  t.equal(saved().length, 1)
})

t.test('nothing heard after the end is saved: the boards are forgotten by then, but their file is not', async (t) => {
  const { answers, appear, book, clock, saved, saves, table } = bookRig()
  await book.open()
  appear(heard(2))
  await clock.run(1000)
  book.changed()
  await clock.run(5000)
  answers.clear()
  await book.close()
  table.stop()
  const before = saves()
  // A question that was under way has its answer.
  book.changed()
  await clock.run(60_000)
  t.equal(saves(), before)
  t.equal(saved().length, 1)
})
