/** plantroom update, plantroom publish and the update server, all as built: what was published runs on the machine. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { installedAt } from '#kit/release/installed.ts'
import { openStage, UPDATE_KEY } from '../../../daemons/updates/test/stage.ts'
import { outerFolder, smallCheckout } from './small-checkout.ts'

const BUILD = join(import.meta.dirname, '../../../build')

async function command(program: string, words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { NODE_COMPILE_CACHE, PATH } = process.env
  const child = spawn(program, words, { env: { NODE_COMPILE_CACHE, PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, out, err }
}

/** A machine with the commands as built as its release, and no daemon that runs. */
function machine(t: Test, url: string) {
  const folder = outerFolder(t)
  const [root, state, bin] = [join(folder, 'root'), join(folder, 'update'), join(folder, 'bin')]
  const release = join(root, 'releases/0.9.0-00000000')
  for (const one of [release, join(state, 'trust'), bin]) mkdirSync(one, { recursive: true })
  for (const name of ['plantroom', 'plantroom.mjs', 'commands.mjs'])
    copyFileSync(join(BUILD, name), join(release, name))
  symlinkSync(process.execPath, join(release, 'node'))
  writeFileSync(join(release, '.complete'), JSON.stringify({ version: '0.9.0', bundle: '0'.repeat(64) }))
  symlinkSync('releases/0.9.0-00000000', join(root, 'current'))
  for (const name of ['systemctl', 'dpkg-query', 'timedatectl']) {
    writeFileSync(join(bin, name), '#!/bin/sh\nexit 1\n')
    chmodSync(join(bin, name), 0o755)
  }
  const sets = [`update_url=${url}`, 'update.probation_ms=0', 'update.retry_ms=10'].flatMap((set) => ['--set', set])
  const env = { PATH: `${bin}:${process.env.PATH}` }
  const run = (...words: string[]) =>
    command(join(root, 'current/plantroom'), ['update', ...words, '--state', state, ...sets], env)
  return { root, run, state }
}

/** A checkout whose release can update itself, and leaves the units of this machine alone. */
function checkoutWithPrograms(t: Test): string {
  const read = (name: string) => readFileSync(join(BUILD, name), 'utf8')
  const withoutUnits = `if (process.argv[2] === 'units') process.exit(0)\n${read('plantroom.mjs')}`
  return smallCheckout(t, {
    ...{ 'build/plantroom': read('plantroom'), 'build/plantroom.mjs': withoutUnits },
    'build/commands.mjs': read('commands.mjs'),
  })
}

/** What a patch changes. */
function patch(checkout: string, text: string): void {
  const file = join(checkout, 'build/gateway.mjs')
  writeFileSync(file, `${readFileSync(file, 'utf8')}${text}`)
  utimesSync(file, 1000, 1000)
}

t.test(
  'B.check_update C an installation is refused, enabled, updated from what was published, and reports it',
  async (t) => {
    const { enabled, url } = await openStage(t)
    const keys = join(outerFolder(t), 'keys')
    const env = { PLANTROOM_KEYS: keys, PLANTROOM_UPDATE_KEY: UPDATE_KEY }
    const plantroom = (...words: string[]) => command(join(BUILD, 'plantroom'), words, env)
    t.match(await plantroom('updates', 'keys', 'init'), { code: 0 })
    const published = ['publish', '--checkout', smallCheckout(t), '--server', url]
    t.match(await plantroom(...published, '--version', '1.0.1'), { code: 0 })

    const { root, run, state } = machine(t, url)
    copyFileSync(join(keys, 'roots/1.json'), join(state, 'trust/root.json'))
    t.match(await run(), {
      code: 1,
      err: /it is not enabled there: enable the one whose id begins with [0-9a-f]{8} in its panel/,
    })
    writeFileSync(join(state, 'installation-id'), await enabled('0.9.0'))
    t.match(await run('--check'), {
      code: 4,
      out: '[UPDATE] 1.0.1 is there, and 0.9.0 runs: plantroom update --yes applies it\n',
    })
    const applied = await run('--yes')
    t.match(applied, { code: 0, out: /\[UPDATE\] 1\.0\.1 runs, in the place of 0\.9\.0\n$/ })
    const installed = installedAt(root)
    const { mark } = await installed.current()
    t.equal(mark.version, '1.0.1')
    t.ok(await installed.isWhole(mark), 'each file is what was signed')
    t.match(await installed.previous(), '0.9.0-00000000')
  },
)

t.test('an installation fetches what has changed, and the archive where that is damaged on the server', async (t) => {
  const { enabled, stateFolder, url } = await openStage(t)
  const keys = join(outerFolder(t), 'keys')
  const env = { PLANTROOM_KEYS: keys, PLANTROOM_UPDATE_KEY: UPDATE_KEY }
  const plantroom = (...words: string[]) => command(join(BUILD, 'plantroom'), words, env)
  t.match(await plantroom('updates', 'keys', 'init'), { code: 0 })
  const checkout = checkoutWithPrograms(t)
  const published = (version: string) =>
    plantroom('publish', '--checkout', checkout, '--server', url, '--version', version)
  t.match(await published('1.0.0'), { code: 0, err: /no delta to 1\.0\.0/ })
  const { root, run, state } = machine(t, url)
  copyFileSync(join(keys, 'roots/1.json'), join(state, 'trust/root.json'))
  writeFileSync(join(state, 'installation-id'), await enabled('0.9.0'))
  t.match(await run('--yes'), { code: 0, out: /1\.0\.0 runs, in the place of 0\.9\.0/ })

  patch(checkout, 'one')
  t.match(await published('1.0.1'), { code: 0, out: /delta from 1\.0\.0 to 1\.0\.1: \d+ bytes/ })
  const byDelta = await run('--yes')
  t.match(byDelta, {
    code: 0,
    out: /1\.0\.1 comes as what has changed since 1\.0\.0.*1\.0\.1 runs, in the place of 1\.0\.0\n$/s,
  })
  const installed = installedAt(root)
  t.ok(await installed.isWhole((await installed.current()).mark), 'each file is what was signed')

  patch(checkout, 'two')
  t.match(await published('1.0.2'), { code: 0, out: /delta from 1\.0\.1 to 1\.0\.2/ })
  damageSmallest(join(`${stateFolder}-files`, 'releases'))
  const byArchive = await run('--yes')
  t.match(byArchive, {
    code: 0,
    out: /the delta from 1\.0\.1 is of no use \(its SHA-256 is .*\): the archive of 1\.0\.2 is fetched.*1\.0\.2 runs, in the place of 1\.0\.1\n$/s,
  })
  t.ok(await installed.isWhole((await installed.current()).mark))
})

/** Deltas are smaller than archives. */
function damageSmallest(folder: string): void {
  const files = readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    const facts = statSync(path)
    return facts.isFile() ? [{ path, size: facts.size }] : []
  })
  for (const { path, size } of files.filter(({ size: bytes }) => bytes < 20_000))
    writeFileSync(path, Buffer.alloc(size))
}
