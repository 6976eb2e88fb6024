/** A release file, from plantroom publish over the page of a recorder to root's updater, all as built. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, t } from 'tap'
import { installedAt } from '#kit/release/installed.ts'
import { type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { smallCheckout } from '../../../scripts/cli/test/small-checkout.ts'
import { admin, clientOf } from './client.ts'
import { type Vendor, vendorIn } from './vendor.ts'

const BUILD = join(import.meta.dirname, '../../../build')
const ACTIVATE = '/usr/bin/systemd-socket-activate'
const skip = existsSync(ACTIVATE) ? false : `${ACTIVATE} is missing`
const PROGRAMS = ['plantroom', 'plantroom.mjs', 'commands.mjs', 'recorder.mjs', 'web', 'native']
const DAY_MS = 86_400_000

interface Machine {
  folder: string
  root: string
  vendor: Vendor
  start(): Promise<RunningDaemon>
}

/** A recorder in a folder of releases, and root's updater behind its socket, as systemd hands it in. */
function machine(t: Test): Machine {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plantroom-upload-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [root, state, bin, socket] = ['root', 'update', 'bin', 'update.sock'].map((name) => join(folder, name)) as [
    ...[string, string, string, string],
  ]
  const release = join(root, 'releases/0.1.0-00000000')
  for (const one of [release, bin, join(state, 'trust')]) mkdirSync(one, { recursive: true })
  for (const name of PROGRAMS) cpSync(join(BUILD, name), join(release, name), { recursive: true })
  symlinkSync(process.execPath, join(release, 'node'))
  writeFileSync(join(release, '.complete'), JSON.stringify({ version: '0.1.0', bundle: '0'.repeat(64) }))
  symlinkSync('releases/0.1.0-00000000', join(root, 'current'))
  for (const name of ['systemctl', 'dpkg-query', 'timedatectl']) {
    writeFileSync(join(bin, name), '#!/bin/sh\nexit 1\n')
    chmodSync(join(bin, name), 0o755)
  }
  const file = join(folder, 'recorder/upload.release')
  const sets = ['update.probation_ms=0', 'update.probe_ms=10', 'update.ask_gap_ms=0', `update.handed_file=${file}`]
  const words = ['update', '--asked', '--state', state, ...sets.flatMap((set) => ['--set', set])]
  const loop = `while :; do ${ACTIVATE} -l "$0" "$@" || exit; rm -f "$0"; done`
  // The release that it began with: the small ones that are put in its place cannot update.
  const child = spawn('setsid', ['sh', '-c', loop, socket, join(release, 'plantroom'), ...words], {
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    stdio: 'ignore',
  })
  t.teardown(async () => {
    process.kill(-(child.pid ?? 0))
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const vendor = vendorIn(folder)
  const own = [`updating.socket=${socket}`, `updating.told_file=${state}-told/told.json`, 'storage.free_bytes=0']
  const start = () =>
    startDaemon(t, 'recorder', {
      command: join(release, 'plantroom'),
      stateFolder: join(folder, 'recorder'),
      sets: [...own, `license.vendor_key_file=${vendor.keyFile}`],
    })
  return { folder, root, vendor, start }
}

/** A publisher's keys, and what makes release files. */
async function publisherIn(t: Test, folder: string) {
  const env = { PATH: process.env.PATH, PLANTROOM_KEYS: join(folder, 'keys') }
  async function plantroom(...words: string[]) {
    const child = spawn(join(BUILD, 'plantroom'), words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
    t.equal(code, 0, `${out}${err}`)
    return out
  }
  await plantroom('updates', 'keys', 'init')
  const checkout = smallCheckout(t)
  async function release(version: string, ...more: string[]): Promise<Buffer> {
    const file = join(folder, `${version}.release`)
    const out = await plantroom(
      ...['publish', '--checkout', checkout, '--version', version, '--release-file', file, ...more],
    )
    t.match(out, new RegExp(`${version} is as a file|is ${version} as a file`))
    return readFileSync(file)
  }
  return { root: join(env.PLANTROOM_KEYS, 'roots/1.json'), release }
}

t.test('3A.update.upload a published file is uploaded, proven by root, and runs', { skip }, async (t) => {
  const { folder, root, start, vendor } = machine(t)
  const people = await publisherIn(t, folder)
  const strangers = await publisherIn(t, mkdtempIn(t))
  copyFileSync(people.root, join(folder, 'update/trust/root.json'))
  const recorder = await start()
  const boss = clientOf(recorder.url)
  await boss.setUp()
  const upload = (bytes: Uint8Array) => boss.send('POST', '/api/update/upload', bytes)
  const rejected = (why: RegExp) => ({ status: 400, body: { error: why, message: why, code: 'update_rejected' } })
  const left = () => readdirSync(join(folder, 'recorder')).filter((name) => name.startsWith('upload'))

  const one = await people.release('1.0.1')
  t.match((await boss.call('GET', '/api/update')).body, { version: /./, why: null, isRunning: false, last: null })
  t.equal((await clientOf(recorder.url).send('POST', '/api/update/upload', one)).status, 401)

  const tampered = Buffer.from(one)
  tampered[tampered.length - 9] = (tampered.at(-9) ?? 0) ^ 1
  t.match(await upload(tampered), rejected(/^Rejected: the file was damaged or changed/))
  t.match(await upload(Buffer.from('PK')), rejected(/^Rejected: this is no release file/))
  t.match(await upload(await strangers.release('2.0.0')), rejected(/^Rejected: .* signed by no release key/))
  await cutUpload(recorder.url, boss.credentials, one)
  await until('what was cut is gone', () => left().length === 0)
  t.equal((await installedAt(root).current()).mark.version, '0.1.0')

  const two = await people.release('1.0.2')
  t.match(await upload(two), { status: 202, body: { version: '1.0.2' } })
  t.same(left(), [], 'root has it open')
  const view = async () => (await boss.call('GET', '/api/update')).body
  await until('it has ended', async () => {
    const { isRunning, last } = await view()
    return !isRunning && last?.outcome === 'applied'
  })
  t.match(await view(), { last: { text: '1.0.2 runs, in the place of 0.1.0' } })
  const installed = installedAt(root)
  t.match((await installed.current()).mark, { version: '1.0.2' })
  t.ok(await installed.isWhole((await installed.current()).mark))
  t.match(await upload(two), rejected(/^Rejected: the file has 1\.0\.2, and 1\.0\.2 runs/))
  t.match(await upload(one), rejected(/^Rejected: the file has 1\.0\.1, and 1\.0\.2 runs/), 'no way back')

  // A licence whose updates ended yesterday.
  const { installationId, keyId } = (await boss.call('GET', '/api/license')).body
  const lease = vendor.lease({ installationId, keyId }, Date.now(), { updatesUntil: Date.now() - DAY_MS })
  t.match(await boss.call('POST', '/api/license/import', { lease }), { status: 200 })
  const three = await people.release('1.0.3')
  t.match(await upload(three), rejected(/^Rejected: 1\.0\.3 was signed on .*, and the licence includes updates until/))
  t.match(await view(), { anyRelease: false, updatesUntil: lease.signed.updatesUntil })

  await recorder.stop('SIGKILL')
  writeFileSync(join(folder, 'recorder/upload.part'), 'half')
  const again = await start()
  const next = clientOf(again.url)
  await next.signIn()
  t.same(left(), [], 'what a power cut left is gone')
  t.match((await next.call('GET', '/api/update')).body.last, { outcome: 'applied', text: /1\.0\.2 runs/ })

  if (noBrowser) return
  const rig = await openRig(t, again.url, { pictures: 'recorder', wanted: /status of (400|409)/ })
  const { audit, page, visit } = rig
  await page.getByLabel('User name', { exact: true }).fill(admin.username)
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Footage goes to').or(page.getByText('Go on with set-up')).first().waitFor()
  await visit('updates')
  await page
    .getByText(/1\.0\.2 runs, in the place of 0\.1\.0/)
    .first()
    .waitFor()
  await audit(t, 'updates')
  const choose = (file: string) => page.locator('input[type=file]').setInputFiles(file)
  await choose(join(folder, '1.0.3.release'))
  await page.getByText(/Rejected: 1\.0\.3 was signed on/).waitFor()
  await audit(t, 'updates-rejected')
  await people.release('1.0.4', '--security-fix')
  await choose(join(folder, '1.0.4.release'))
  await page
    .getByText(/1\.0\.4 runs, in the place of 1\.0\.2/)
    .first()
    .waitFor()
  await audit(t, 'updates-applied')
})

function mkdtempIn(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantroom-strangers-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Sends half of a file, and hangs up. */
async function cutUpload(
  url: string,
  { cookie, csrf }: { cookie?: string; csrf?: string },
  bytes: Buffer,
): Promise<void> {
  const headers = {
    ...{ 'content-type': 'application/octet-stream', 'content-length': bytes.length },
    ...{ cookie: cookie ?? '', 'x-csrf-token': csrf ?? '' },
  }
  const call = request(`${url}/api/update/upload`, { method: 'POST', headers })
  call.on('error', () => {})
  await new Promise<void>((resolve) => call.write(bytes.subarray(0, bytes.length / 2), () => resolve()))
  call.destroy()
}
