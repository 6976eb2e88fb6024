/** plantroom publish: what the server gets is what a machine can prove, and what failed is not recorded. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type Test, t } from 'tap'
import { createContainerReader } from '#kit/release/container.ts'
import { applyDelta } from '#kit/release/delta.ts'
import { bundleHash, readManifest } from '#kit/release/manifest.ts'
import { followRelease, pinRoot, proveRelease, readRelease } from '#kit/release/record.ts'
import { readRoot } from '#kit/release/root.ts'
import { publish } from '../publish.ts'
import { updatesKeys } from '../updates-keys.ts'
import { type Answer, commitAll, outerFolder, smallCheckout, type Upload, updateServer } from './small-checkout.ts'
import { type Outcome, runCommand } from './world.ts'

const KEY = 'the-update-key'

interface Publisher {
  keys: string
  checkout: string
  uploads: Upload[]
  deltas: Upload[]
  run(...argv: string[]): Promise<Outcome>
  published(): { sequence: number; releases: { version: string; sequence: number }[]; taken: string[] }
}

async function publisher(t: Test, given: { answer?: Answer; checkout?: string } = {}): Promise<Publisher> {
  const keys = join(outerFolder(t), 'keys')
  const checkout = given.checkout ?? smallCheckout(t)
  await runCommand(updatesKeys, ['init', '--keys', keys])
  const { deltas, uploads, url } = await updateServer(t, given.answer)
  const always = ['--keys', keys, '--checkout', checkout, '--server', url]
  return {
    ...{ keys, checkout, uploads, deltas },
    run: (...argv) => runCommand(publish, [...always, ...argv], { env: { PLANTROOM_UPDATE_KEY: KEY } }),
    published: () => JSON.parse(readFileSync(join(keys, 'published.json'), 'utf8')),
  }
}

/** What a machine makes of an upload: decrypted and unpacked by other programs. */
function unpacked(t: Test, { body, headers }: Upload): { folder: string; archive: Buffer; list: string[] } {
  const folder = outerFolder(t)
  const reader = createContainerReader(Buffer.from(String(headers['x-svc-encryption-key']), 'hex'))
  const archive = Buffer.concat([...reader.take(body), ...reader.end()])
  writeFileSync(join(folder, 'archive.tar.gz'), archive)
  mkdirSync(join(folder, 'tree'))
  execFileSync('tar', ['-xzf', 'archive.tar.gz', '-C', 'tree'], { cwd: folder })
  const list = execFileSync('tar', ['-tvzf', 'archive.tar.gz', '--utc'], { cwd: folder, encoding: 'utf8' })
  return { folder: join(folder, 'tree'), archive, list: list.trim().split('\n') }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const only = ({ uploads }: Publisher, at = 0): Upload =>
  uploads.at(at) ?? { path: undefined, headers: {}, body: Buffer.alloc(0) }

t.test('B.publish the server gets the archive, its key, and a record that a machine takes', async (t) => {
  const one = await publisher(t)
  const said = await one.run('--security-fix', '--min-from', '0.0.9')
  t.match(said, {
    code: 0,
    out: /update 0\.1\.0: bundle hash [0-9a-f]{64} recorded\n0\.1\.0 is published, number 1\.\n$/,
    err: /uploading the update: 100 %/,
  })
  const { body, headers, path } = only(one)
  t.equal(path, '/push_update')
  t.match(headers, {
    ...{ 'x-svc-update-key': KEY, 'x-svc-version': '0.1.0', 'x-svc-encryption-key': /^[0-9a-f]{64}$/ },
    ...{
      'x-svc-checksum': sha256(body),
      'content-length': String(body.length),
      'content-type': 'application/octet-stream',
    },
  })
  const release = readRelease(Buffer.from(String(headers['x-svc-release']), 'base64'))
  t.match(release.signed, {
    ...{ version: '0.1.0', sequence: 1, min_from: '0.0.9', arch: null, security_fix: true },
    ...{ size: body.length, sha256: sha256(body), bundle: headers['x-svc-bundle-hash'] },
  })
  t.equal(release.signed.expires - release.signed.issued_at, 365 * 86_400_000)
  const trust = pinRoot(readRoot(readFileSync(join(one.keys, 'roots/1.json'))))
  const machine = { arch: 'arm64', version: '0.0.9', nowAt: Date.now() }
  t.match(proveRelease(followRelease(trust, release), 'update', release, machine), { sequence: 1 })
  t.throws(() => proveRelease(trust, 'installer', release, machine), { code: 'release_untrusted' })
  t.match(one.published(), { sequence: 1, releases: [{ version: '0.1.0', sequence: 1, commit: null }], taken: [] })
  t.notOk(said.out.includes(KEY) || said.err.includes(KEY))
})

t.test('the archive holds what a machine runs, by the manifest that is signed, and nothing else', async (t) => {
  const one = await publisher(t)
  await one.run()
  const { folder, list } = unpacked(t, only(one))
  const manifest = readFileSync(join(folder, 'MANIFEST'))
  t.equal(bundleHash(manifest), only(one).headers['x-svc-bundle-hash'])
  const entries = readManifest(manifest)
  t.same(
    entries.map(({ path, mode }) => `${mode.toString(8)} ${path}`),
    [
      ...[
        '644 CHANGELOG.md',
        '644 commands.mjs',
        '644 defaults/gateway.toml',
        '644 gateway.mjs',
        '644 licences/gateway.json.gz',
      ],
      ...[
        '755 native/helper/prebuilds/linux-arm64/plantroom-helper',
        '755 native/helper/prebuilds/linux-x64/plantroom-helper',
      ],
      ...['644 native/serial/prebuilds/linux-arm64/serial.node', '644 native/serial/prebuilds/linux-x64/serial.node'],
      ...[
        '755 plantroom',
        '644 plantroom.mjs',
        '644 release.json',
        '644 root.json',
        '644 systemd/plantroom-gateway.service',
        '644 templates/gateway/meter.json',
      ],
      '644 web/gateway/index.html',
    ],
  )
  for (const { path, sha256: expected } of entries) t.equal(sha256(readFileSync(join(folder, path))), expected, path)
  t.equal(list.length, entries.length + 1)
  t.match(list[0], /MANIFEST$/, 'the manifest comes first')
  for (const line of list) t.match(line, /^-rw[-x]r-[-x]r-[-x] (root|0)\/(root|0) +\d+ 1970-01-01 00:00/)
  t.same(JSON.parse(readFileSync(join(folder, 'release.json'), 'utf8')), {
    commit: null,
    node: '24.21.0',
    // The checkout has none.
    runtimes: {},
    version: '0.1.0',
  })
  t.equal(readFileSync(join(folder, 'root.json'), 'utf8'), readFileSync(join(one.keys, 'roots/1.json'), 'utf8'))
})

t.test(
  'the same commit gives the same archive, wherever and whenever it was built, in another container',
  async (t) => {
    const [checkout, other] = [smallCheckout(t), smallCheckout(t)]
    const commit = commitAll(checkout)
    execFileSync('cp', ['-r', join(checkout, '.git'), join(checkout, '.gitignore'), other])
    utimesSync(join(other, 'build/gateway.mjs'), 5, 5)
    execFileSync('chmod', ['-R', 'go+rwX', join(other, 'build')])
    const one = await publisher(t, { checkout })
    t.match(await one.run(), { code: 0 })
    t.match(await one.run('--checkout', other, '--version', '0.1.1'), { code: 0 })
    const [first, second] = [unpacked(t, only(one)), unpacked(t, only(one, 1))]
    t.equal(JSON.parse(readFileSync(join(first.folder, 'release.json'), 'utf8')).commit, commit)
    t.notOk(first.archive.equals(second.archive), 'the version is in it')
    const again = await publisher(t, { checkout: other })
    execFileSync('cp', ['-r', join(one.keys, 'roots'), join(one.keys, 'release.pem'), again.keys])
    t.match(await again.run(), { code: 0 })
    t.ok(unpacked(t, only(again)).archive.equals(first.archive))
    t.notOk(only(again).body.equals(only(one).body))
    t.not(only(again).headers['x-svc-encryption-key'], only(one).headers['x-svc-encryption-key'])
  },
)

t.test('B.versioning each publish has the next patch version and the next number', async (t) => {
  const one = await publisher(t)
  for (const argv of [[], [], ['--version', '0.2.0-beta.1'], [], ['--version', '1.0.0'], []])
    t.match(await one.run(...argv), { code: 0 })
  t.same(
    one.uploads.map(({ headers }) => headers['x-svc-version']),
    ['0.1.0', '0.1.1', '0.2.0-beta.1', '0.1.2', '1.0.0', '1.0.1'],
  )
  t.equal(one.published().sequence, 6)
  t.match(one.published().releases[0], { version: '1.0.1', sequence: 6 })
  t.match(await one.run('--min-from', '1.0.3'), { code: 'bad_usage', err: /above the 1\.0\.2/ })
  t.match(await one.run('--version', '1.0.1'), { code: 'version_taken' })
  t.match(await one.run('--version', '0.9.0'), { code: 'version_taken', err: /1\.0\.1 is already/ })
  t.match(await one.run('--version', '0.2.0-beta.1'), { code: 'version_taken' })
  writeFileSync(join(one.checkout, 'package.json'), '{"name":"plantroom","version":"2.0.0"}')
  utimesSync(join(one.checkout, 'package.json'), 1000, 1000)
  t.match(await one.run(), { code: 0, out: /2\.0\.0 is published/ })
})

const bad: readonly (readonly [how: string, code: string, err: RegExp, answer: Answer])[] = [
  [
    'another file name',
    'push_mismatch',
    /file name plantroom-9\.9\.9\.tar\.gz\.enc, expected plantroom-0\.1\.0/,
    (_, usual) => ({ body: { ...usual, filename: 'plantroom-9.9.9.tar.gz.enc' } }),
  ],
  ['another checksum', 'push_mismatch', /checksum/, (_, usual) => ({ body: { ...usual, checksum: 'a'.repeat(64) } })],
  ['another size', 'push_mismatch', /size 1, expected/, (_, usual) => ({ body: { ...usual, size: 1 } })],
  ['another version', 'push_mismatch', /version/, (_, usual) => ({ body: { ...usual, version: '0.1.00' } })],
  [
    'another bundle hash',
    'push_mismatch',
    /bundle hash/,
    (_, usual) => ({ body: { ...usual, bundle_hash: 'a'.repeat(64) } }),
  ],
  [
    'a wrong key',
    'push_failed',
    /with 401: The update key is wrong\./,
    () => ({ status: 401, body: { error: 'unauthorized', message: 'The update key is wrong.' } }),
  ],
  ['a page of a proxy', 'push_failed', /with 502: without saying why/, () => ({ status: 502, body: '<html>' })],
  ['nothing that makes sense', 'push_failed', /answered 200, and not what it has filed/, () => ({ body: 'fine' })],
  ['a redirect', 'push_failed', /with 302/, () => ({ status: 302, body: '' })],
  ['an endless answer', 'push_failed', /answered 200/, () => ({ body: 'x'.repeat(100_000) })],
]

t.test(
  'B.publish an answer fails the publish, and the next one sends the same bytes as the same version:',
  async (t) => {
    for (const [how, code, err, answer] of bad) {
      let isBad = true
      const one = await publisher(t, { answer: (...given) => (isBad ? answer(...given) : undefined) })
      t.match(await one.run(), { code, err }, how)
      t.match(one.published(), { releases: [], taken: [] }, how)
      isBad = false
      t.match(await one.run(), { code: 0, out: /0\.1\.0 is published, number 2/ }, how)
      t.ok(only(one, 1).body.equals(only(one, 0).body), how)
      t.notOk(
        readdirSync(one.keys).some((name) => name.startsWith('waiting')),
        how,
      )
    }
  },
)

t.test(
  'a version that the server has with other bytes is left to it, and the next patch version follows',
  async (t) => {
    const answer: Answer = ({ headers }) =>
      headers['x-svc-version'] === '0.1.0'
        ? { status: 409, body: { error: 'release_exists', message: 'The update 0.1.0 is published with other bytes.' } }
        : undefined
    const one = await publisher(t, { answer })
    t.match(await one.run(), { code: 'push_taken', err: /Publish again: it will be the next patch version/ })
    t.match(await one.run(), { code: 0, out: /0\.1\.1 is published/ })
    t.match(one.published(), { releases: [{ version: '0.1.1' }], taken: ['0.1.0'] })
  },
)

t.test('a bundle hash that the server does not record is told as missing', async (t) => {
  const one = await publisher(t, { answer: (_, usual) => ({ body: { ...usual, bundle_hash: null } }) })
  t.match(await one.run(), { code: 0, out: /update 0\.1\.0: bundle hash missing/ })
})

t.test('an installer goes along under the same version, with a record of its own', async (t) => {
  const one = await publisher(t)
  const installer = join(outerFolder(t), 'setup.run')
  writeFileSync(installer, '#!/bin/sh\n')
  t.match(await one.run('--installer', installer), {
    code: 0,
    out: /installer 0\.1\.0: bundle hash [0-9a-f]{64} recorded/,
  })
  const { body, headers, path } = only(one, 1)
  t.equal(path, '/push_installer')
  t.equal(body.toString(), '#!/bin/sh\n')
  t.equal(headers['x-svc-encryption-key'], undefined)
  const release = readRelease(Buffer.from(String(headers['x-svc-release']), 'base64'))
  t.match(release.signed, { version: '0.1.0', sha256: sha256(body), size: 10, sequence: 1 })
  const trust = pinRoot(readRoot(readFileSync(join(one.keys, 'roots/1.json'))))
  const machine = { arch: 'amd64', version: '0.0.1', nowAt: Date.now() }
  t.ok(proveRelease(trust, 'installer', release, machine))
  t.throws(() => proveRelease(trust, 'update', release, machine), { code: 'release_untrusted' })
})

t.test('an installer that fails leaves the release unrecorded', async (t) => {
  let isBad = true
  const one = await publisher(t, {
    answer: ({ path }) => (isBad && path === '/push_installer' ? { status: 507, body: '' } : undefined),
  })
  const installer = join(outerFolder(t), 'setup.run')
  t.match(await one.run('--installer', installer), {
    code: 'publish_failed',
    err: /setup\.run: \w+ failed with ENOENT/,
  })
  t.equal(one.uploads.length, 0)
  writeFileSync(installer, '#!/bin/sh\n')
  t.match(await one.run('--installer', installer), { code: 'push_failed' })
  t.match(one.published(), { releases: [] })
  isBad = false
  t.match(await one.run('--installer', installer), { code: 0, out: /0\.1\.0 is published/ })
  t.ok(only(one, 2).body.equals(only(one, 0).body))
})

t.test('a dry run does all of it but upload and record', async (t) => {
  const one = await publisher(t)
  const before = readdirSync(one.keys).sort()
  const said = await one.run('--dry-run')
  t.match(said, {
    code: 0,
    out: /would publish plantroom-0\.1\.0\.tar\.gz\.enc, SHA-256 [0-9a-f]{64}\nbundle hash [0-9a-f]{64}\nnothing was uploaded/,
  })
  t.same(
    readdirSync(one.keys).filter((name) => name !== 'daemon.lock'),
    before.filter((name) => name !== 'daemon.lock'),
  )
  t.equal(one.uploads.length, 0)
  t.match(
    await runCommand(publish, ['--dry-run', '--keys', one.keys, '--checkout', one.checkout]),
    { code: 0 },
    'no server, no key',
  )
})

t.test('a container that was damaged while it waited is not published', async (t) => {
  let isBad = true
  const one = await publisher(t, { answer: () => (isBad ? { status: 500, body: '' } : undefined) })
  await one.run()
  isBad = false
  const file = join(one.keys, 'waiting-0.1.0/archive.tar.gz.enc')
  const bytes = readFileSync(file)
  bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200)
  writeFileSync(file, bytes)
  t.match(await one.run(), { code: 'container_damaged' })
  t.equal(one.uploads.length, 1)
  t.notOk(existsSync(file))
  t.match(await one.run(), { code: 0 })
})

t.test('after a rotation the release carries the roots, and machines follow', async (t) => {
  const one = await publisher(t)
  await one.run()
  const trust = pinRoot(readRoot(readFileSync(join(one.keys, 'roots/1.json'))))
  t.match(await runCommand(updatesKeys, ['rotate', 'release', '--keys', one.keys]), { code: 0 })
  t.match(await one.run(), { code: 0 })
  const [before, after] = one.uploads.map(({ headers }) =>
    readRelease(Buffer.from(String(headers['x-svc-release']), 'base64')),
  )
  const machine = { arch: 'amd64', version: '0.1.0', nowAt: Date.now() }
  if (!before || !after) return t.fail('two releases are there')
  const followed = followRelease(trust, after)
  t.match(proveRelease(followed, 'update', after, machine), { root: { version: 2 }, sequence: 2 })
  t.throws(() => proveRelease(followed, 'update', before, machine), { code: 'release_untrusted' })
})

const checkouts: readonly (readonly [
  how: string,
  err: RegExp,
  change: Readonly<Record<string, string | undefined>>,
])[] = [
  ['no bundle of a daemon', /gateway\.mjs is missing: run make build/, { 'build/gateway.mjs': undefined }],
  ['no command', /build\/plantroom is missing/, { 'build/plantroom': undefined }],
  ['no mark that it is built', /is not built: run make build/, { 'build/stamps/web': undefined }],
  [
    'an addon for one kind of machine alone',
    /serial is not built for arm64.*--arch/,
    { 'build/native/serial/prebuilds/linux-arm64/serial.node': undefined },
  ],
  ['another package', /is no checkout of Plantroom/, { 'package.json': '{"name":"other","version":"1.0.0"}' }],
  ['no package', /is no checkout of Plantroom/, { 'package.json': undefined }],
]

t.test('a checkout is not published that has', async (t) => {
  for (const [how, err, change] of checkouts) {
    const one = await publisher(t, { checkout: smallCheckout(t, change) })
    t.match(await one.run(), { code: 'checkout_not_built', err }, how)
    t.equal(one.uploads.length, 0, how)
  }
  const one = await publisher(t)
  const laterS = Date.now() / 1000 + 60
  utimesSync(join(one.checkout, 'daemons/gateway/main.ts'), laterS, laterS)
  t.match(await one.run(), { code: 'checkout_not_built', err: /main\.ts has changed since it was built/ })
  const committed = smallCheckout(t)
  commitAll(committed)
  writeFileSync(join(committed, 'docs/CHANGELOG.md'), 'changed')
  t.match(await one.run('--checkout', committed), {
    code: 'not_committed',
    err: /docs\/CHANGELOG\.md is not committed/,
  })
})

t.test('a release for one kind of machine has its addons alone, and says so', async (t) => {
  const checkout = smallCheckout(t, { 'build/native/serial/prebuilds/linux-arm64/serial.node': undefined })
  const one = await publisher(t, { checkout })
  t.match(await one.run('--arch', 'amd64'), { code: 0 })
  const { folder } = unpacked(t, only(one))
  t.same(readdirSync(join(folder, 'native/helper/prebuilds')), ['linux-x64'])
  t.equal(readRelease(Buffer.from(String(only(one).headers['x-svc-release']), 'base64')).signed.arch, 'amd64')
})

t.test('a file that no archive may hold fails the publish', async (t) => {
  const one = await publisher(t, { checkout: smallCheckout(t, { 'build/web/gateway/a b': 'x' }) })
  t.match(await one.run(), { code: 'bad_manifest' })
})

t.test(
  'the update key comes from a file or the environment, and goes in the clear to this machine alone',
  async (t) => {
    const one = await publisher(t)
    const file = join(outerFolder(t), 'key')
    writeFileSync(file, 'from-a-file\nmore\n')
    t.match(await one.run('--update-key-file', file), { code: 0 })
    t.equal(only(one).headers['x-svc-update-key'], 'from-a-file')
    const words = ['--keys', one.keys, '--checkout', one.checkout]
    const url = 'https://127.0.0.1:1'
    for (const [argv, err] of [
      [['--server', url], /--update-key-file/],
      [['--server', url, '--update-key-file', '/nowhere'], /--update-key-file/],
      [[], /name the update server/],
      [['--server', 'updates.example'], /name the update server/],
      [['--server', 'ftp://x'], /name the update server/],
      [['--server', 'https://x/?key=y'], /name the update server/],
      [['--server', 'http://updates.example', '--update-key-file', file], /in the clear: use https/],
      [['--server', 'http://127.0.0.1.example', '--update-key-file', file], /in the clear: use https/],
      [['--server', url, '--update-key', 'x'], /update-key/],
      [['--server', url, '--arch', 'x64'], /expected amd64 or arm64/],
      [['--server', url, '--version', '1.0'], /not a version/],
      [['--server', url, '--min-from', 'v1'], /not a version/],
      [['--server', url, 'more'], /expected: plantroom publish/],
      [['--server', url, '--valid-days', '4000'], /1 to 3650/],
    ] as const)
      t.match(await runCommand(publish, [...words, ...argv]), { code: 'bad_usage', err }, argv.join(' '))
  },
)

t.test('a server that cannot be reached, or hangs up, fails the publish', async (t) => {
  const one = await publisher(t)
  t.match(await one.run('--server', 'http://127.0.0.1:1'), {
    code: 'push_failed',
    err: /cannot be reached.*ECONNREFUSED/,
  })
})

t.test('what does not fit together is told before anything is sent', async (t) => {
  const one = await publisher(t)
  const state = {
    sequence: 1,
    releases: [{ version: '0.1.0', sequence: 1, at: Date.now() + 1e9, commit: null, sha256: 'a', bundle: 'b' }],
    taken: [],
  }
  writeFileSync(join(one.keys, 'published.json'), JSON.stringify(state))
  t.match(await one.run(), { code: 'publish_clock', err: /set the clock/ })
  writeFileSync(join(one.keys, 'published.json'), '{')
  t.match(await one.run(), { code: 'keys_damaged' })
  t.match(await one.run('--keys', join(one.keys, 'none')), { code: 'keys_missing' })
  t.match(await one.run('--keys', one.checkout), { code: 'keys_in_tree' })
  t.equal(one.uploads.length, 0)
})

t.test(
  'what has changed since each of the last three goes along, and machines can make the release of it',
  async (t) => {
    const one = await publisher(t)
    t.match(await one.run(), { err: /no delta to 0\.1\.0: no archive of a release before is kept/ })
    for (const text of ['one', 'two', 'three', 'four']) {
      writeFileSync(join(one.checkout, 'docs/CHANGELOG.md'), `# ${text}\n`)
      utimesSync(join(one.checkout, 'docs/CHANGELOG.md'), 1000, 1000)
      t.match(await one.run(), { code: 0 })
    }
    t.same(
      one.deltas.map(({ headers }) => `${headers['x-svc-from']} to ${headers['x-svc-version']}`),
      [
        ...['0.1.0 to 0.1.1', '0.1.1 to 0.1.2', '0.1.0 to 0.1.2'],
        ...['0.1.2 to 0.1.3', '0.1.1 to 0.1.3', '0.1.0 to 0.1.3', '0.1.3 to 0.1.4', '0.1.2 to 0.1.4', '0.1.1 to 0.1.4'],
      ],
    )
    t.same(readdirSync(join(one.keys, 'kept')).sort(), ['0.1.2.tar.gz', '0.1.3.tar.gz', '0.1.4.tar.gz'])
    const [before, next] = [unpacked(t, only(one, -2)), unpacked(t, only(one, -1))]
    const delta = one.deltas.find(
      ({ headers }) => `${headers['x-svc-from']}${headers['x-svc-version']}` === '0.1.30.1.4',
    )
    const reader = createContainerReader(Buffer.from(String(only(one, -1).headers['x-svc-encryption-key']), 'hex'))
    const plain = [...reader.take(delta?.body ?? Buffer.alloc(0)), ...reader.end()]
    const folder = join(outerFolder(t), 'made')
    const bundle = String(only(one, -1).headers['x-svc-bundle-hash'])
    const bounds = { unpackedBytes: 1e8, fileBytes: 1e7 }
    await applyDelta(Readable.from(plain), { before: before.folder, folder, bundle }, bounds)
    execFileSync('diff', ['-r', folder, next.folder])
  },
)

t.test('a dry run says what a delta would be, and leaves no archive', async (t) => {
  const one = await publisher(t)
  await one.run()
  t.match(await one.run('--dry-run'), {
    out: /would publish plantroom-0\.1\.1-from-0\.1\.0\.delta\.enc, \d+ of \d+ bytes\n/,
    err: /delta from 0\.1\.0: \d+ bytes, \d+\.\d % of the archive, \d files; applied and proven/,
  })
  t.same([one.deltas, readdirSync(join(one.keys, 'kept'))], [[], ['0.1.0.tar.gz']])
})

t.test(
  'a release is published where a delta cannot be: the server takes none, or the archive before is damaged',
  async (t) => {
    const one = await publisher(t, {
      answer: ({ path }) =>
        path === '/push_delta' ? { status: 404, body: { error: 'x', message: 'nothing here' } } : undefined,
    })
    await one.run()
    t.match(await one.run(), {
      code: 0,
      err: /the delta from 0\.1\.0 is not published, and machines fetch the archive: the server refused the delta with 404: nothing here/,
    })
    writeFileSync(join(one.keys, 'kept/0.1.1.tar.gz'), 'damaged')
    t.match(await one.run(), { code: 0, err: /no delta from 0\.1\.1 to 0\.1\.2: the archive is no gzip, or damaged/ })
    t.same(one.published().releases.length, 3)
    t.match(await one.run('--min-from', '0.1.2', '--version', '0.2.0'), { code: 0 })
    t.equal(one.deltas.at(-1)?.headers['x-svc-from'], '0.1.2', 'who may not take it has no delta')
  },
)
