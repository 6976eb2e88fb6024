/** Tests of auth/homes.ts. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { silentLog } from '#kit/log.ts'
import { openHomes } from '../../auth/homes.ts'

const DAY_MS = 86_400_000

function parts(folder: string, most = 16) {
  const warned: string[] = []
  const log = { ...silentLog, warning: (event: string) => void warned.push(event) }
  return { folder, clock: fakeClock(), log, most, warned }
}

/** Waits until the file holds that many homes, or that many used then. The folder is removed with the test: no write may be pending. */
async function saved(folder: string, count: number, usedAt: number | 'usedAt' = 'usedAt'): Promise<string> {
  for (let i = 0; i < 500; i++) {
    const text = await readFile(join(folder, 'homes.json'), 'utf8').catch(() => '')
    if (text.split(String(usedAt)).length === count + 1) return text
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`homes.json never had ${count} homes`)
}

t.test('the places where an account signed in are known after a restart, and the file names nobody', async (t) => {
  const by = parts(t.testdir())
  const homes = await openHomes(by)
  t.equal(homes.has('192.0.2.1', 'anna'), false)
  homes.add('192.0.2.1', 'anna')
  t.equal(homes.has('192.0.2.1', 'anna'), true)
  const text = await saved(by.folder, 1)
  t.notMatch(text, /anna|192\.0/)
  const again = await openHomes(by)
  t.equal(again.has('192.0.2.1', 'anna'), true)
  for (const [network, account] of [
    ['192.0.2.1', 'bob'],
    ['192.0.2.2', 'anna'],
  ] as const)
    t.equal(again.has(network, account), false)
})

t.test('the account with most homes makes room, its oldest first', async (t) => {
  const by = parts(t.testdir(), 4)
  const homes = await openHomes(by)
  homes.add('a', 'bob')
  for (const network of ['1', '2', '3', '4', '5']) homes.add(network, 'anna')
  t.same(
    ['1', '2', '3', '4', '5'].map((network) => homes.has(network, 'anna')),
    [false, false, true, true, true],
  )
  t.equal(homes.has('a', 'bob'), true)
  await saved(by.folder, 4)
})

t.test('a home that is used goes last, and is written once a day', async (t) => {
  const by = parts(t.testdir(), 2)
  const homes = await openHomes(by)
  homes.add('1', 'anna')
  homes.add('2', 'anna')
  const before = await saved(by.folder, 2)
  homes.add('1', 'anna')
  t.equal(await saved(by.folder, 2), before)
  by.clock.advance(DAY_MS)
  homes.add('1', 'anna')
  homes.add('3', 'anna')
  t.same([homes.has('1', 'anna'), homes.has('2', 'anna')], [true, false])
  await saved(by.folder, 2, by.clock.epochMs())
})

t.test('a damaged file does not prevent a start', async (t) => {
  const by = parts(t.testdir({ 'homes.json': '{' }))
  const homes = await openHomes(by)
  t.same(by.warned, ['homes_forgotten'])
  homes.add('1', 'anna')
  await saved(by.folder, 1)
  t.equal((await openHomes(by)).has('1', 'anna'), true)
})

t.test('homes that cannot be saved are known until the daemon stops, and the log says so', async (t) => {
  const by = parts(join(t.testdir(), 'state'))
  const homes = await openHomes(by)
  const { rm } = await import('node:fs/promises')
  await rm(by.folder, { recursive: true })
  await writeFile(by.folder, 'a file in its place')
  homes.add('1', 'anna')
  for (let i = 0; i < 500 && by.warned.length === 0; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.same(by.warned, ['homes_not_saved'])
  t.equal(homes.has('1', 'anna'), true)
})
