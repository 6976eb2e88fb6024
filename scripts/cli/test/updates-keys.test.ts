/** plantroom updates keys: what it makes is for its owner alone, and each root follows from the one before. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { followRoots, proveRoot, readRoot } from '#kit/release/root.ts'
import { updatesKeys } from '../updates-keys.ts'
import { outerFolder } from './small-checkout.ts'
import { runCommand } from './world.ts'

const run = (...argv: string[]) => runCommand(updatesKeys, argv)
const rootOf = (keys: string, version: number) => readRoot(readFileSync(join(keys, `roots/${version}.json`)))

async function made(t: Test): Promise<string> {
  const keys = join(outerFolder(t), 'keys')
  t.match(await run('init', '--keys', keys), { code: 0, out: /Root 1 is in .*Take the 3 files/s })
  return keys
}

t.test('init makes three root keys, a release key, and a root that two of them signed', async (t) => {
  const keys = await made(t)
  t.equal(statSync(keys).mode & 0o777, 0o700)
  const files = [
    'release.pem',
    'roots/1.json',
    'root-keys-1/root-1-1.pem',
    'root-keys-1/root-1-2.pem',
    'root-keys-1/root-1-3.pem',
  ]
  for (const file of files) t.equal(statSync(join(keys, file)).mode & 0o777, 0o600, file)
  const root = rootOf(keys, 1)
  t.equal(root.signatures.length, 2)
  t.match(proveRoot(root), {
    version: 1,
    threshold: 2,
    min_sequence: 1,
    root_keys: { length: 3 },
    release_keys: { length: 1 },
  })
  t.match(await run('show', '--keys', keys), { code: 0, out: /root +1, in .*signing +2 of 3.*published +nothing yet/s })
})

t.test('init makes nothing in a tree, and nothing over keys that are there', async (t) => {
  const folder = outerFolder(t)
  writeFileSync(join(folder, 'package.json'), '{}')
  t.match(await run('init', '--keys', join(folder, 'deep/keys')), { code: 'keys_in_tree' })
  t.notOk(existsSync(join(folder, 'deep')))
  const keys = await made(t)
  const before = readFileSync(join(keys, 'release.pem'), 'utf8')
  t.match(await run('init', '--keys', keys), { code: 'bad_key', err: /there are keys in .* already/ })
  t.equal(readFileSync(join(keys, 'release.pem'), 'utf8'), before)
})

t.test('rotate release makes another release key, and shuts out all that the old one signed', async (t) => {
  const keys = await made(t)
  writeFileSync(join(keys, 'published.json'), '{"sequence":41,"releases":[],"taken":[]}')
  t.match(await run('rotate', 'release', '--keys', keys), { code: 0, out: /Root 2 is in/ })
  const [first, second] = [rootOf(keys, 1), rootOf(keys, 2)]
  t.not(second.signed.release_keys[0], first.signed.release_keys[0])
  t.equal(second.signed.min_sequence, 42)
  t.equal(followRoots(proveRoot(first), [second]).version, 2)
  t.match(await run('show', '--keys', keys), { code: 0, out: /least number +42/ })
})

t.test('rotate root makes other root keys, which the old ones vouch for', async (t) => {
  const keys = await made(t)
  const medium = join(outerFolder(t), 'medium')
  t.match(await run('rotate', 'root', '--keys', keys, '--new-root-keys', medium), { code: 0 })
  t.same(readdirSync(medium).sort(), ['root-2-1.pem', 'root-2-2.pem', 'root-2-3.pem'])
  const [first, second] = [rootOf(keys, 1), rootOf(keys, 2)]
  t.equal(second.signed.root_keys.filter((key) => first.signed.root_keys.includes(key)).length, 0)
  t.equal(followRoots(proveRoot(first), [second]).version, 2)
  t.match(await run('rotate', 'expiry', '--keys', keys), {
    code: 'root_untrusted',
    err: /0 of the root keys of root 2/,
  })
  const two = ['--root-keys', join(medium, 'root-2-1.pem'), '--root-keys', join(medium, 'root-2-3.pem')]
  t.match(await run('rotate', 'expiry', '--keys', keys, '--valid-days', '10', ...two), { code: 0 })
  const third = rootOf(keys, 3)
  t.equal(third.signed.expires - third.signed.issued_at, 10 * 86_400_000)
  t.same(third.signed.release_keys, first.signed.release_keys)
  t.equal(followRoots(proveRoot(first), [second, third]).version, 3)
})

t.test('rotate changes nothing with one root key alone', async (t) => {
  const keys = await made(t)
  const before = readFileSync(join(keys, 'release.pem'), 'utf8')
  for (const what of ['release', 'root', 'expiry'])
    t.match(await run('rotate', what, '--keys', keys, '--root-keys', join(keys, 'root-keys-1/root-1-1.pem')), {
      code: 'root_untrusted',
      err: /1 of the root keys of root 1 are here, and 2 must sign/,
    })
  t.same(readdirSync(join(keys, 'roots')), ['1.json'])
  t.equal(readFileSync(join(keys, 'release.pem'), 'utf8'), before)
  rmSync(join(keys, 'root-keys-1'), { recursive: true })
  t.match(await run('rotate', 'release', '--keys', keys), { code: 'root_untrusted', err: /--root-keys/ })
  t.match(await run('rotate', 'release', '--keys', keys, '--root-keys', '/nowhere'), {
    code: 'bad_key',
    err: /bring the medium/,
  })
})

t.test('keys that others may read are refused', async (t) => {
  const keys = await made(t)
  await chmod(join(keys, 'release.pem'), 0o640)
  t.match(await run('show', '--keys', keys), { code: 'bad_key', err: /chmod 600/ })
  await chmod(join(keys, 'root-keys-1/root-1-2.pem'), 0o604)
  t.match(await run('rotate', 'expiry', '--keys', keys), { code: 'bad_key', err: /root-1-2\.pem may be read/ })
})

t.test('show finds what does not fit together', async (t) => {
  const [keys, other] = [await made(t), await made(t)]
  renameSync(join(other, 'release.pem'), join(keys, 'release.pem'))
  t.match(await run('show', '--keys', keys), { code: 'release_untrusted', err: /not a release key of root 1/ })
  writeFileSync(join(keys, 'published.json'), '{"sequence":-1}')
  t.match(await run('show', '--keys', keys), { code: 'keys_damaged' })
  writeFileSync(
    join(keys, 'roots/1.json'),
    readFileSync(join(keys, 'roots/1.json'), 'utf8').replace('"threshold":2', '"threshold":1'),
  )
  t.match(await run('show', '--keys', keys), { code: 'root_untrusted' })
  t.match(await run('show', '--keys', join(keys, 'none')), { code: 'keys_missing', err: /keys init/ })
})

t.test('the folder of keys comes from the environment too', async (t) => {
  const folder = outerFolder(t)
  mkdirSync(join(folder, 'home'))
  for (const env of [
    { PLANTROOM_KEYS: join(folder, 'a') },
    { XDG_CONFIG_HOME: join(folder, 'b') },
    { HOME: join(folder, 'home') },
  ])
    t.match(await runCommand(updatesKeys, ['init'], { env }), { code: 0 })
  for (const path of ['a', 'b/plantroom/keys', 'home/.config/plantroom/keys'])
    t.ok(existsSync(join(folder, path, 'release.pem')), path)
})

t.test('wrong usage is told', async (t) => {
  const keys = outerFolder(t)
  const cases: readonly (readonly string[])[] = [
    [],
    ['make'],
    ['rotate', '--keys', keys],
    ['rotate', 'all', '--keys', keys],
  ]
  for (const argv of [
    ...cases,
    ['init', '--valid-days', '0', '--keys', keys],
    ['init', '--valid-days', 'ten', '--keys', keys],
    ['init', '--root-keys', 'x'],
    ['show', 'x'],
  ])
    t.match(await run(...argv), { code: 'bad_usage' }, argv.join(' '))
})
