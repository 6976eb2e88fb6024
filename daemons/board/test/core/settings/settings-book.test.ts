import t from 'tap'
import { createLog, silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { openSettingsBook, type SettingsFile } from '../../../core/settings/book.ts'
import { firstSettings } from '../../../core/settings/settings.ts'
import { keptInMemory } from '../../kept-in-memory.ts'

const first = firstSettings({ role: 'serial', hostname: 'board-7', mcast: '239.69.10.4' })

async function setup(before?: SettingsFile) {
  const kept = keptInMemory<SettingsFile | undefined>(before)
  const lines: string[] = []
  const log = createLog({ level: 'notice', stream: { write: (line) => lines.push(line) } })
  const open = () => openSettingsBook({ file: kept.file, first, world: { httpPort: 80 }, log })
  return { ...kept, open, lines, book: await open() }
}

t.test('saved settings apply from the next start on', async (t) => {
  const { book, open, saved } = await setup()
  t.same(book.saved(), first)
  t.same((await book.save({ name: 'Lobby', sap: '1' })).changed, ['name'])
  t.equal(book.running.name, 'board-7')
  t.equal(book.saved().name, 'Lobby')
  t.equal(saved()?.saves, 1)
  t.match(await open(), { running: { name: 'Lobby' }, saves: 1 })
})

t.test('a refused form, or a disk that does not store it, leaves everything as it was', async (t) => {
  const { book, fail, saved } = await setup()
  await t.rejects(book.save({ port: 'x' }), { code: 'bad_fields' })
  fail(new Fault('store_write_failed', 'the disk is full'))
  await t.rejects(book.save({ name: 'Lobby' }), { code: 'store_write_failed' })
  t.same(book.saved(), first)
  t.equal(saved(), undefined)
  fail(undefined)
  await book.save({ name: 'Bar' })
  t.equal(saved()?.saves, 1)
})

t.test('two forms at once are applied one after another: neither undoes the other', async (t) => {
  const { book } = await setup()
  await Promise.all([book.save({ name: 'Lobby', sap: '1' }), book.save({ channels: '8', sap: '1' })])
  t.match(book.saved(), { name: 'Lobby', channels: 8 })
})

t.test('a form made from outdated settings is refused in its turn, and nothing of it is saved', async (t) => {
  const { book } = await setup()
  const read = book.revision()
  const expected = (now: string) => {
    if (now !== read) throw new Fault('changed_meanwhile', now)
  }
  const [theirs, mine] = await Promise.allSettled([
    book.save({ name: 'Lobby', sap: '1' }, 'off', expected),
    book.save({ name: 'Bar', sap: '1' }, 'off', expected),
  ])
  t.match([theirs.status, mine], ['fulfilled', { status: 'rejected', reason: { code: 'changed_meanwhile' } }])
  t.equal(book.saved().name, 'Lobby')
  t.equal(
    mine.status === 'rejected' && mine.reason.message,
    book.revision(),
    'it was checked against the present settings',
  )
})

t.test('a save that changes nothing counts as one', async (t) => {
  const { book, saved } = await setup()
  t.same((await book.save({ sap: '1' })).changed, [])
  t.equal(saved()?.saves, 1)
})

t.test('an invalid value in a file is replaced with its default, with a line in the log', async (t) => {
  const { book, lines } = await setup({ settings: { ...first, name: 'Lobby', port: 80 }, saves: 3 })
  t.match(book.running, { name: 'Lobby', port: 5004 })
  t.match(lines.join(''), /setting not taken over setting=port why="80 is too low/)
  t.equal(book.saves, 3)
  await t.rejects(
    openSettingsBook({
      file: keptInMemory<SettingsFile | undefined>({ settings: [], saves: 0 }).file,
      first,
      world: { httpPort: 80 },
      log: silentLog,
    }),
    {
      code: 'bad_fields',
    },
  )
})
