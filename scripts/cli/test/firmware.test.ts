/** plantroom firmware: what it signs is what a board takes, and what it unpacks is what was signed. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { firmware } from '../firmware.ts'
import { runCommand } from './world.ts'

const at = (t: Test, name: string) => join(t.testdirName, name)
const payload = Buffer.alloc(300_000, 'payload')

t.beforeEach((t) => void t.testdir({ rootfs: payload, other: 'x' }))

const run = (...argv: string[]) => runCommand(firmware, argv)

/** Keys, and a signed image. */
async function signed(t: Test, ...more: string[]): Promise<void> {
  t.match(await run('keygen', at(t, 'key'), at(t, 'key.pem')), { code: 0 })
  const words = ['--key', at(t, 'key'), '--compatible', 'pi', '--version', '2.1.0', ...more]
  t.match(await run('sign', ...words, at(t, 'rootfs'), at(t, 'image')), {
    code: 0,
    out: /is pi 2\.1\.0, with 300000 bytes/,
  })
}

const unpack = (t: Test, ...more: string[]) =>
  run('unpack', '--keys', at(t, 'key.pem'), '--compatible', 'pi', ...more, at(t, 'image'), at(t, 'out'))

t.test('B.ota what was signed is shown and unpacked', async (t) => {
  await signed(t, '--floor', '2.0.0')
  t.match(await run('show', '--keys', at(t, 'key.pem'), at(t, 'image')), {
    code: 0,
    out: /^compatible {2}pi\nversion {5}2\.1\.0\nfloor {7}2\.0\.0\nsize {8}300000\nsha256 {6}[0-9a-f]{64}\nsigned {6}.*key\.pem\npayload {5}is the one/,
  })
  t.match(await run('show', at(t, 'image')), { code: 0, out: /signed {6}not looked at/ })
  t.match(await unpack(t), { code: 0 })
  t.ok(readFileSync(at(t, 'out')).equals(payload))
})

t.test('a private key is for its owner alone, and no key is written over', async (t) => {
  await signed(t)
  t.equal(statSync(at(t, 'key')).mode & 0o777, 0o600)
  const before = readFileSync(at(t, 'key'), 'utf8')
  t.match(await run('keygen', at(t, 'key'), at(t, 'new.pem')), { code: 'bad_key', err: /is there already/ })
  t.equal(readFileSync(at(t, 'key'), 'utf8'), before)
})

t.test('B.ota what is not signed, damaged or cut is not unpacked, and leaves no file', async (t) => {
  await signed(t)
  await run('keygen', at(t, 'strange'), at(t, 'strange.pem'))
  const strange = ['unpack', '--keys', at(t, 'strange.pem'), '--compatible', 'pi', at(t, 'image'), at(t, 'out')]
  t.match(await run(...strange), { code: 'image_untrusted' })
  t.match(await run('show', '--keys', at(t, 'strange.pem'), at(t, 'image')), {
    code: 'image_untrusted',
    out: /by none/,
  })
  t.match(await unpack(t, '--floor', '2.1.1'), { code: 'image_too_old' })
  t.match(await unpack(t, '--compatible', 'other'), { code: 'image_wrong_board' })
  const image = readFileSync(at(t, 'image'))
  const cases: [string, Buffer][] = [
    ['image_damaged', Buffer.concat([image.subarray(0, -1), Buffer.from([0])])],
    ['image_damaged', image.subarray(0, -1)],
    ['image_damaged', Buffer.concat([image, Buffer.from([0])])],
    ['image_unknown', image.subarray(0, 100)],
    ['image_unknown', image.subarray(0, 5)],
    ['image_unknown', payload],
  ]
  for (const [code, bytes] of cases) {
    writeFileSync(at(t, 'image'), bytes)
    t.match(await unpack(t), { code }, `${bytes.length} bytes`)
    t.match(await run('show', at(t, 'image')), { code })
  }
  t.notOk(existsSync(at(t, 'out')))
  t.notOk(existsSync(at(t, 'out.new')))
})

t.test('an image is written to what is not a file, such as a device, as it is', async (t) => {
  await signed(t)
  execFileSync('mkfifo', [at(t, 'pipe')])
  const far = spawn('sha256sum', [at(t, 'pipe')])
  let sum = ''
  far.stdout.setEncoding('utf8').on('data', (text: string) => {
    sum += text
  })
  const ended = new Promise((resolve) => far.once('close', resolve))
  const words = ['--keys', at(t, 'key.pem'), '--compatible', 'pi', at(t, 'image'), at(t, 'pipe')]
  t.match(await run('unpack', ...words), { code: 0 })
  await ended
  t.match((await run('show', at(t, 'image'))).out, new RegExp(sum.slice(0, 64)))
})

t.test('what a board would not take is not signed', async (t) => {
  await run('keygen', at(t, 'key'), at(t, 'key.pem'))
  const sign = (...words: string[]) => run('sign', '--key', at(t, 'key'), ...words, at(t, 'rootfs'), at(t, 'image'))
  t.match(await sign('--compatible', 'pi', '--version', '2.1'), { code: 'bad_usage' })
  t.match(await sign('--compatible', 'pi', '--version', '2.1.0', '--floor', '2.1.1'), { code: 'image_unknown' })
  t.match(await sign('--compatible', 'a pi', '--version', '2.1.0'), { code: 'image_unknown' })
  t.match(await sign('--version', '2.1.0'), { code: 'bad_usage' })
  truncateSync(at(t, 'rootfs'))
  t.match(await sign('--compatible', 'pi', '--version', '2.1.0'), { code: 'image_unknown' }, 'no payload')
  t.notOk(existsSync(at(t, 'image')))
})

t.test('files that are not there, and words that make no sense, are told', async (t) => {
  t.match(await run('show', at(t, 'absent')), { code: 'firmware_failed', err: /absent: open failed with ENOENT/ })
  t.match(await run('show', '--keys', at(t, 'other'), at(t, 'rootfs')), { code: 'bad_key' })
  for (const words of [[], ['turn'], ['keygen', 'one'], ['show'], ['unpack', 'image', 'out'], ['sign', '--sure']])
    t.match(await run(...words), { code: 'bad_usage' }, words.join(' '))
})

t.test('the floor of who installs outlives an image, and rises with it', async (t) => {
  await signed(t)
  const floor = ['--floor-file', at(t, 'floor')]
  t.match(await unpack(t, ...floor), { code: 0 })
  t.equal(existsSync(at(t, 'floor')), false, 'an image without a floor raises none')
  writeFileSync(at(t, 'floor'), '2.1.1\n')
  t.match(await unpack(t, ...floor), { code: 'image_too_old', err: /older than 2\.1\.1/ })
  writeFileSync(at(t, 'floor'), 'nonsense')
  t.match(await unpack(t, ...floor), { code: 'image_too_old', err: /holds no version/ })
  writeFileSync(at(t, 'floor'), '1.0.0\n')
  const sign = ['--key', at(t, 'key'), '--compatible', 'pi', '--version', '2.1.0', '--floor', '2.0.0']
  t.match(await run('sign', ...sign, at(t, 'rootfs'), at(t, 'image')), { code: 0 })
  t.match(await unpack(t, ...floor), { code: 0 })
  t.equal(readFileSync(at(t, 'floor'), 'utf8'), '2.0.0\n')
})
