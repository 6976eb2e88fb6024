/** The install script of the built update server, run by a shell. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { ask } from '#kit/test/running-daemon.ts'
import { openStage, sha256, signing } from './stage.ts'

const run = promisify(execFile)
const shared = openStage(t)

t.test('B.routes.install.sh is POSIX sh that checks what it downloads, and does nothing if it was cut', async (t) => {
  const stage = await shared
  const proof = join(t.testdir(), 'proof')
  const installer = Buffer.from(`#!/bin/sh\nprintf '%s' "$*" >'${proof}'\n`)
  await stage.publishInstaller('8.0.0', new Uint8Array(installer))
  const script = await (await fetch(`${stage.url}/install.sh`)).text()
  const place = join(t.testdirName, 'install')
  // As root, without being it.
  const asRoot = (text: string) => text.replace('[ "$(id -u)" = 0 ]', 'true')
  const play = async (text: string) => {
    writeFileSync(place, asRoot(text))
    return await run('sh', [place], { env: { PATH: process.env.PATH ?? '' } }).then(
      () => 0,
      (error) => error.code as number,
    )
  }
  for (const at of [0.1, 0.4, 0.7, 0.9, 0.97].map((share) => Math.floor(script.length * share)))
    t.equal(await play(script.slice(0, at)).then(() => read(proof)), undefined, `cut after ${at} bytes`)
  t.equal(await play(script), 0)
  t.equal(read(proof), `-- --yes --update-url ${stage.url}`, 'updates come from there too')
  writeFileSync(proof, '')
  t.not(await play(script.replace(/'[0-9a-f]{64}'/, `'${'0'.repeat(64)}'`)), 0)
  t.equal(read(proof), '', 'another file is not run')
  const lint = await run('shellcheck', ['-s', 'sh', place]).catch((error) => error)
  if (lint.code !== 'ENOENT') t.equal(lint.stdout, '', 'shellcheck finds nothing')
  const odd = await ask(`${stage.url}/install.sh`, { headers: { 'x-forwarded-proto': "http'; reboot" } })
  t.notMatch(odd.body, 'reboot')
})

t.test('install.sh proves the signature of a signed installer with the key it carries', async (t) => {
  const stage = await openStage(t)
  const { record, sign } = signing()
  const proof = join(t.testdir(), 'proof')
  const installer = Buffer.from(`printf run >'${proof}'\n`)
  const signed = (more: object = {}) =>
    sign('installer', { ...record, version: '1.0.0', size: installer.length, sha256: sha256(installer), ...more })
  const push = (text: string) =>
    stage.publishInstaller('1.0.0', new Uint8Array(installer), {
      'x-svc-release': Buffer.from(text).toString('base64'),
    })
  t.match(await push(signed({ sha256: 'a'.repeat(64) })), { status: 400, body: { error: 'checksum_mismatch' } })
  t.match(await push(signed({ version: '1.0.1' })), { status: 400, body: { error: 'checksum_mismatch' } })
  t.match(
    await push(sign('update', JSON.parse(signed()).signed)),
    { status: 400, body: { error: 'release_untrusted' } },
    'of another kind',
  )
  t.equal((await push(signed())).status, 200)
  const script = await (await fetch(`${stage.url}/install.sh`)).text()
  const place = join(t.testdirName, 'install')
  const play = async (text: string) => {
    writeFileSync(place, text.replace('[ "$(id -u)" = 0 ]', 'true'))
    return await run('sh', [place], { env: { PATH: process.env.PATH ?? '' } }).then(
      ({ stdout }) => stdout,
      (error) => String(error.stderr),
    )
  }
  const lines = /'([A-Za-z0-9+/=]{80,})' \| openssl base64 -d -A >"\$1\/(signed|signature)"/g
  for (const [whole, coded = '', what] of script.matchAll(lines)) {
    const other = whole.replace(coded, `${coded.startsWith('A') ? 'B' : 'A'}${coded.slice(1)}`)
    t.match(await play(script.replace(whole, other)), /the signature of the installer is wrong/, String(what))
  }
  t.equal(read(proof), undefined)
  t.match(await play(script), /the signature is right/)
  t.equal(read(proof), 'run')
  const lint = await run('shellcheck', ['-s', 'sh', place]).catch((error) => error)
  if (lint.code !== 'ENOENT') t.equal(lint.stdout, '')
})

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
