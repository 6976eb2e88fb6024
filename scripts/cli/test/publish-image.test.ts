/** plantroom publish --image: what the server gets is the image that was signed, for the boards that it names. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { createContainerReader } from '#kit/release/container.ts'
import { followRelease, pinRoot, proveRelease, readRelease } from '#kit/release/record.ts'
import { readRoot } from '#kit/release/root.ts'
import { firmware } from '../firmware.ts'
import { publish } from '../publish.ts'
import { updatesKeys } from '../updates-keys.ts'
import { type Answer, outerFolder, type Upload, updateServer } from './small-checkout.ts'
import { runCommand } from './world.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function publisher(t: Test, answer: Answer = () => undefined) {
  const folder = outerFolder(t)
  const keys = join(folder, 'keys')
  await runCommand(updatesKeys, ['init', '--keys', keys])
  await runCommand(firmware, ['keygen', join(folder, 'key'), join(folder, 'key.pem')])
  writeFileSync(join(folder, 'rootfs'), Buffer.alloc(300_000, 'payload'))
  const server = await updateServer(t, (upload, usual) => {
    const { 'x-svc-compatible': compatible, 'x-svc-version': version } = upload.headers
    return answer(upload, usual) ?? { body: { ...usual, filename: `${compatible}-${version}.img.enc` } }
  })
  const image = (version: string, compatible = 'panel') => join(folder, `${compatible}-${version}.img`)
  const env = { PLANTROOM_UPDATE_KEY: 'the-update-key' }
  return {
    ...{ folder, keys, image, uploads: server.uploads },
    async sign(version: string, compatible = 'panel') {
      const words = ['--key', join(folder, 'key'), '--compatible', compatible, '--version', version]
      await runCommand(firmware, ['sign', ...words, join(folder, 'rootfs'), image(version, compatible)])
    },
    run: (file: string, ...more: string[]) =>
      runCommand(publish, ['--image', file, '--keys', keys, '--server', server.url, ...more], { env }),
    published: () => JSON.parse(readFileSync(join(keys, 'published.json'), 'utf8')),
    waiting: () => readdirSync(keys).filter((name) => name.includes('waiting')),
  }
}

function plainOf({ body, headers }: Upload): Buffer {
  const reader = createContainerReader(Buffer.from(String(headers['x-svc-encryption-key']), 'hex'))
  return Buffer.concat([...reader.take(body), ...reader.end()])
}

t.test('docs/updates.md: the server gets the image, its key, and a record that its boards take', async (t) => {
  const { image, keys, published, run, sign, uploads, waiting } = await publisher(t)
  await sign('2.1.0')
  t.match(await run(image('2.1.0'), '--arch', 'arm64', '--min-from', '2.0.0'), {
    code: 0,
    out: 'image 2.1.0 for panel is published, number 1.\n',
    err: /uploading the image: 100 %/,
  })
  const [upload] = uploads
  if (!upload) throw new TypeError('nothing came')
  const { body, headers, path } = upload
  t.equal(path, '/push_image')
  t.match(headers, { 'x-svc-version': '2.1.0', 'x-svc-compatible': 'panel', 'x-svc-checksum': sha256(body) })
  t.ok(plainOf(upload).equals(readFileSync(image('2.1.0'))))
  const release = readRelease(Buffer.from(String(headers['x-svc-release']), 'base64'))
  t.match(release.signed, {
    ...{ version: '2.1.0', compatible: 'panel', arch: 'arm64', min_from: '2.0.0', sequence: 1, size: body.length },
    ...{ sha256: sha256(body), bundle: sha256(readFileSync(image('2.1.0'))) },
  })
  const trust = followRelease(pinRoot(readRoot(readFileSync(join(keys, 'roots/1.json')))), release)
  const board = { arch: 'arm64', version: '2.0.0', compatible: 'panel', nowAt: Date.now() }
  t.match(proveRelease(trust, 'image', release, board), { sequence: 1 })
  t.throws(() => proveRelease(trust, 'image', release, { ...board, compatible: 'beamer' }), {
    code: 'release_wrong_board',
  })
  t.throws(() => proveRelease(trust, 'image', release, { ...board, arch: 'amd64' }), { code: 'release_wrong_arch' })
  t.throws(() => proveRelease(trust, 'image', release, { ...board, version: '1.9.0' }), { code: 'release_too_far' })
  t.throws(() => proveRelease(trust, 'update', release, board), { code: 'release_untrusted' })
  t.match(published(), { sequence: 1, releases: [], images: [{ compatible: 'panel', version: '2.1.0', sequence: 1 }] })
  t.same(waiting(), [])
})

t.test('docs/updates.md: one that failed is sent again with the same bytes', async (t) => {
  let isDown = true
  const { image, published, run, sign, uploads, waiting } = await publisher(t, () =>
    isDown ? { status: 503, body: { error: 'no_room', message: 'The disk is full.' } } : undefined,
  )
  await sign('2.1.0')
  t.match(await run(image('2.1.0')), { code: 'push_failed', err: /The disk is full/ })
  t.match(published(), { sequence: 1, releases: [] })
  t.equal(waiting().length, 1)
  isDown = false
  t.match(await run(image('2.1.0')), { code: 0, out: /number 2/ })
  t.ok(uploads[0]?.body.equals(uploads[1]?.body ?? Buffer.alloc(0)), 'the server may have had it all the same')
  t.same(waiting(), [])
})

t.test('docs/updates.md: each kind of board has versions of its own, which only grow', async (t) => {
  const { image, run, sign, uploads } = await publisher(t)
  for (const [version, compatible] of [
    ['2.1.0', 'panel'],
    ['2.1.0', 'beamer'],
    ['2.0.9', 'panel'],
  ] as const)
    await sign(version, compatible)
  t.match(await run(image('2.1.0')), { code: 0 })
  t.match(await run(image('2.1.0', 'beamer')), { code: 0, out: /number 2/ })
  t.match(await run(image('2.0.9')), { code: 'version_taken', err: /image 2\.0\.9 for panel .* 2\.1\.0/ })
  t.equal(uploads.length, 2)
})

t.test('docs/updates.md: what is no image, damaged, or asked for as an update too, is not published', async (t) => {
  const { folder, image, keys, run, sign, uploads } = await publisher(t)
  await sign('2.1.0')
  t.match(await run(join(folder, 'rootfs')), { code: 'image_unknown' })
  t.match(await run(join(folder, 'missing')), { code: 'publish_failed' })
  for (const more of [['--version', '2.1.0'], ['--installer', 'x'], ['--no-installer'], ['--checkout', '.']])
    t.match(await run(image('2.1.0'), ...more), { code: 'bad_usage', err: /exclude each other/ })
  t.match(await run(image('2.1.0'), '--min-from', '3.0.0'), { code: 'bad_usage' })
  t.match(await run(image('2.1.0'), '--dry-run'), { code: 0, out: /would publish panel-2\.1\.0\.img\.enc/ })
  truncateSync(image('2.1.0'), 200_000)
  t.match(await run(image('2.1.0')), { code: 'image_damaged' })
  t.equal(uploads.length, 0)
  t.notOk(existsSync(join(keys, 'dry-run')))
})
