/** A process that is killed while it saves, again and again; and a disk that is full. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { t } from 'tap'
import { silentLog } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'

/** Each of five counts of values with each of eleven delays, once. */
const KILLS = 5 * 11
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Compiled once: a start is most of the time of a kill. */
const cache = mkdtempSync(join(tmpdir(), 'plantroom-compiled-'))
t.teardown(() => rmSync(cache, { recursive: true, force: true }))

function load(folder: string) {
  const check = (value: unknown) => {
    const { n, filler } = value as { n: number; filler: string }
    if (!Number.isInteger(n) || filler.length !== 20_000) throw new Error('half a file')
    return { n, filler }
  }
  return createStore({ folder, name: 'x', check, initial: () => ({ n: 0, filler: '' }), log: silentLog }).load()
}

/** When a saver is killed: milliseconds after it was sure of that many values. */
interface Kill {
  values: number
  afterMs: number
}

/** Starts a saver that continues from a number, kills it in the middle, and returns the last number it was sure of. */
function killWhileSaving(folder: string, first: number, { values, afterMs }: Kill): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [here('saving-child.ts'), folder, String(first)], {
      env: { NODE_COMPILE_CACHE: cache },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = ''
    let isDoomed = false
    child.stdout.on('data', (chunk) => {
      told += chunk
      // The first line says that it begins.
      if (isDoomed || told.split('\n').length - 2 < values) return
      isDoomed = true
      setTimeout(() => child.kill('SIGKILL'), afterMs)
    })
    child.on('error', reject)
    child.on('close', (_, signal) => {
      if (signal !== 'SIGKILL') reject(new Error(`the saver ended on its own: ${told.slice(-200)}`))
      // The last line can be truncated; complete ones were acknowledged.
      const numbers = told.split('\n').slice(1, -1).map(Number)
      resolve(numbers.at(-1) ?? first - 1)
    })
  })
}

t.test(`loses no acknowledged value in ${KILLS} kills while saving`, { timeout: 120_000 }, async (t) => {
  const folder = join(t.testdir(), 'state')
  let sure = 0
  let kills = 0
  /** Two at a time, each with its own folder, since the machine has two cores. */
  async function lane(name: string): Promise<void> {
    let acknowledged = 0
    while (kills < KILLS) {
      const kill = { values: 1 + (kills % 5), afterMs: (kills * 7) % 11 }
      kills++
      acknowledged = await killWhileSaving(`${folder}-${name}`, acknowledged + 1, kill)
      const { n } = await load(`${folder}-${name}`)
      if (n !== acknowledged && n !== acknowledged + 1)
        t.fail(`kill ${kills}: file holds ${n}, ${acknowledged} was acknowledged`)
      acknowledged = n
    }
    sure += acknowledged
    const files = readdirSync(`${folder}-${name}`).filter((file) => file.includes('damaged'))
    t.same(files, [], 'nothing was damaged')
  }
  await Promise.all([lane('a'), lane('b')])
  t.ok(sure >= KILLS, `${sure} values were saved meanwhile`)
})

/** Why no small disk can be made here, or false. */
function noSmallDisk(): string | false {
  const probe = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', '/mnt'])
  return probe.status === 0 ? false : 'needs root and a mount namespace of its own (unshare -m)'
}

t.test('keeps the old file on a disk that is full', { skip: noSmallDisk() }, async (t) => {
  const folder = t.testdir({ disk: {} })
  const script = `mount -t tmpfs -o size=64k none "$1" && exec "$2" "$3" "$1"`
  const disk = join(folder, 'disk')
  const command = ['-m', 'sh', '-c', script, 'sh', disk, process.execPath, here('full-disk-child.ts')]
  const ran = spawnSync('unshare', command, { encoding: 'utf8', env: { PATH: process.env.PATH } })
  t.equal(ran.stderr, '')
  t.same(JSON.parse(ran.stdout), {
    code: 'store_write_failed',
    says: true,
    value: { n: 1 },
    files: ['x.json'],
    afterwards: { n: 3 },
  })
})
