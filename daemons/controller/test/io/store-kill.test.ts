/** A process that is killed while it imports or applies changes; and a full disk. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { t } from 'tap'
import { builtProgram } from '#kit/test/built-program.ts'
import { openSiteStore } from '../../io/database.ts'
import { importFirstSite } from '../../io/site-import.ts'
import { noSmallDisk } from '../small-disk.ts'
import { bytesOf, parts, versioned } from './store-parts.ts'

const IMPORTS = 8
const APPLIES = 12
const FIRST_ZONES = 1500
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const importing = builtProgram(t, here('importing-child.ts'))

const cache = mkdtempSync(join(tmpdir(), 'plantroom-compiled-'))
t.teardown(() => rmSync(cache, { recursive: true, force: true }))

/** The result of a child: the last number it acknowledged, and how long after its start the first one came. */
interface Killed {
  sure: number | undefined
  firstMs: number
}

/** Starts a child and kills it some time after its start; without a time, as soon as it has acknowledged something. */
function killed(args: readonly string[], afterMs?: number): Promise<Killed> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [importing, ...args], {
      // Compiled once: starting up is most of the time of a round.
      env: { NODE_COMPILE_CACHE: cache },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = ''
    let begunMs = 0
    let firstMs = 0
    child.stdout.on('data', (chunk) => {
      const isFirst = told === ''
      told += chunk
      if (isFirst) begunMs = performance.now()
      if (isFirst && afterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), afterMs)
      if (told.split('\n').length < 3 || firstMs > 0) return
      firstMs = performance.now() - begunMs
      if (afterMs === undefined) child.kill('SIGKILL')
    })
    child.on('error', reject)
    child.on('close', (_, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`it ended by itself: ${told.slice(-200)}`))
      resolve({ sure: told.split('\n').slice(1, -1).map(Number).at(-1), firstMs })
    })
  })
}

/** The versions in all zones of a folder (one, if all is well), and the number of zones. */
async function versionIn(folder: string): Promise<{ versions: unknown[]; zones: number }> {
  const store = openSiteStore(folder, parts.clock, parts.store)
  const zones = store.book.rows('zone')
  await store.close()
  return { versions: [...new Set(zones.map(({ position }) => position))], zones: zones.length }
}

/** Two at a time, since a child's start is most of a round, and a small machine has two cores. */
async function inLanes(rounds: number, run: (lane: string, round: number) => Promise<void>): Promise<void> {
  let round = 0
  async function lane(name: string): Promise<void> {
    while (round < rounds) await run(name, ++round)
  }
  await Promise.all([lane('a'), lane('b')])
}

t.test(`in ${IMPORTS} kills a first import leaves no site or the complete one`, { timeout: 60_000 }, async (t) => {
  const folder = t.testdir()
  const { firstMs } = await killed(['first', join(folder, 'timed'), '1'])
  let whole = 0
  await inLanes(IMPORTS, async (_, round) => {
    const place = join(folder, String(round))
    // Kill times range from the first instant to after the end.
    const { sure } = await killed(['first', place, String(round)], ((round - 1) / IMPORTS) * 1.5 * firstMs)
    const isThere = existsSync(join(place, 'controller.db'))
    if (sure !== undefined) t.ok(isThere, 'an acknowledged import is there')
    if (isThere) whole++
    else await importFirstSite(place, bytesOf(versioned(round, FIRST_ZONES)), parts)
    t.same(await versionIn(place), { versions: [round], zones: FIRST_ZONES }, `round ${round}`)
  })
  t.ok(whole < IMPORTS, `${whole} were complete`)
})

t.test(
  `in ${APPLIES} kills while applying, the site is the one before or the one after`,
  { timeout: 60_000 },
  async (t) => {
    const sure = new Map<string, number>()
    const folderOf = (lane: string) => join(t.testdirName, lane)
    t.testdir({ a: {}, b: {} })
    for (const lane of ['a', 'b']) await importFirstSite(folderOf(lane), bytesOf(versioned(0)), parts)
    const { firstMs } = await killed(['apply', folderOf('a'), '1'])
    sure.set('a', Number((await versionIn(folderOf('a'))).versions[0]))
    await inLanes(APPLIES, async (lane, round) => {
      const before = sure.get(lane) ?? 0
      // The last ones are killed once they have acknowledged one, however slow the machine has become.
      const afterMs = round > APPLIES - 2 ? undefined : (0.3 + (2 * round) / APPLIES) * firstMs
      const acknowledged = (await killed(['apply', folderOf(lane), String(before + 1)], afterMs)).sure ?? before
      const { versions, zones } = await versionIn(folderOf(lane))
      const found = Number(versions[0])
      t.same({ versions: versions.length, zones }, { versions: 1, zones: 300 }, `round ${round} is complete`)
      t.ok(found === acknowledged || found === acknowledged + 1, `${found} after ${acknowledged} was acknowledged`)
      sure.set(lane, found)
    })
    const applied = [...sure.values()].reduce((sum, count) => sum + count, 0)
    t.ok(applied > 1, `${applied} versions were applied`)
  },
)

t.test(
  'on a full disk nothing changes, neither on it nor in memory, and work continues when there is room',
  { skip: noSmallDisk() },
  async (t) => {
    const disk = join(t.testdir({ disk: {} }), 'disk')
    const script = `mount -t tmpfs -o size=3m none "$1" && exec "$2" "$3" "$1"`
    const command = ['-m', 'sh', '-c', script, 'sh', disk, process.execPath, here('full-disk-child.ts')]
    const ran = spawnSync('unshare', command, { encoding: 'utf8', env: { PATH: process.env.PATH } })
    t.equal(ran.stderr, '')
    t.same(JSON.parse(ran.stdout), {
      first: 'store_write_failed',
      left: [],
      change: 'store_write_failed',
      says: true,
      applied: 'store_write_failed',
      inMemory: 1,
      afterRestart: { versions: [1], pending: 300 },
      withRoom: { applied: 300, changed: 9, versions: [2] },
    })
  },
)
