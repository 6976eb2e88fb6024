/** plantroom publish against the update server, both as built: what an installation gets is what was published. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { type Test, t } from 'tap'
import { createContainerReader } from '#kit/release/container.ts'
import { bundleHash } from '#kit/release/manifest.ts'
import { followRelease, pinRoot, proveRelease, readRelease } from '#kit/release/record.ts'
import { readRoot } from '#kit/release/root.ts'
import { openStage, sha256, UPDATE_KEY } from '../../../daemons/updates/test/stage.ts'
import { outerFolder, smallCheckout } from './small-checkout.ts'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')

interface Said {
  code: number
  out: string
  err: string
}

async function plantroom(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Said> {
  const { NODE_COMPILE_CACHE, PATH } = process.env
  const child = spawn(COMMAND, words, { env: { NODE_COMPILE_CACHE, PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, out, err }
}

async function publisher(t: Test, url: string) {
  const keys = join(outerFolder(t), 'keys')
  t.match(await plantroom(['updates', 'keys', 'init'], { PLANTROOM_KEYS: keys }), { code: 0 })
  const words = ['publish', '--checkout', smallCheckout(t), '--server', url]
  const env = { PLANTROOM_KEYS: keys, PLANTROOM_UPDATE_KEY: UPDATE_KEY }
  const run = (...more: string[]) => plantroom([...words, ...more], env)
  return { keys, run, words }
}

t.test('B.publish what an installation is offered and fetches is what was signed', async (t) => {
  const { enabled, url } = await openStage(t)
  const { keys, run } = await publisher(t, url)
  t.match(await run('--version', '1.0.1'), {
    code: 0,
    out: /update 1\.0\.1: bundle hash [0-9a-f]{64} recorded\n1\.0\.1 is published, number 1/,
  })
  const ask = (path: string, body: unknown) =>
    fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const installation_id = await enabled('1.0.0')
  const offered = (await (await ask('/check_update', { installation_id, version: '1.0.0' })).json()) as Record<
    string,
    string
  >
  t.match(offered, { update: true, version: '1.0.1', filename: 'plantroom-1.0.1.tar.gz.enc' })
  const bytes = Buffer.from(await (await ask('/pull_update', { installation_id, version: '1.0.1' })).arrayBuffer())
  const release = readRelease(Buffer.from(offered.release ?? '', 'base64'))
  const trust = followRelease(pinRoot(readRoot(readFileSync(join(keys, 'roots/1.json')))), release)
  t.ok(proveRelease(trust, 'update', release, { arch: 'arm64', version: '1.0.0', nowAt: Date.now() }))
  t.match(release.signed, { sha256: sha256(bytes), size: bytes.length, bundle: offered.bundle_hash })
  t.equal(offered.checksum, sha256(bytes))
  const reader = createContainerReader(Buffer.from(offered.encryption_key ?? '', 'hex'))
  const tar = gunzipSync(Buffer.concat([...reader.take(bytes), ...reader.end()]))
  // The manifest is the first file: a header of 512 bytes, in which its size stands in octal.
  const manifest = tar.subarray(512, 512 + Number.parseInt(tar.toString('latin1', 124, 135), 8))
  t.equal(bundleHash(manifest), offered.bundle_hash)
})

t.test('B.publish a publish that failed is not recorded, and the next one is the same release', async (t) => {
  const { url } = await openStage(t)
  const { keys, run, words } = await publisher(t, url)
  const wrong = await plantroom(words, { PLANTROOM_KEYS: keys, PLANTROOM_UPDATE_KEY: 'another-key' })
  t.match(wrong, { code: 1, err: /the server refused the update with 401/ })
  t.match(JSON.parse(readFileSync(join(keys, 'published.json'), 'utf8')), { releases: [] })
  const installer = join(outerFolder(t), 'setup.run')
  writeFileSync(installer, '#!/bin/sh\n')
  t.match(await run('--installer', installer), {
    code: 0,
    out: /update 0\.1\.0: .*installer 0\.1\.0: .*0\.1\.0 is published/s,
  })
  const answer = await fetch(`${url}/installers/0.1.0`)
  t.equal(await answer.text(), '#!/bin/sh\n')
  t.match(await run('--installer', installer), { code: 0, out: /0\.1\.1 is published/ })
})

t.test('a version that the server has from elsewhere is passed over', async (t) => {
  const { url } = await openStage(t)
  const [one, other] = [await publisher(t, url), await publisher(t, url)]
  t.match(await one.run(), { code: 0, out: /0\.1\.0 is published/ })
  t.match(await other.run(), { code: 1, err: /the server has 0\.1\.0 with other bytes. Publish again/ })
  t.match(await other.run(), { code: 0, out: /0\.1\.1 is published/ })
})
