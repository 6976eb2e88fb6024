/** plantroom report. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { schemaTables } from '#kit/config/load.ts'
import { daemonNames, loadDaemon } from '../daemons.ts'
import { UPDATERS } from '../logs.ts'
import { report } from '../report.ts'
import { runCommand } from './world.ts'

const SOURCES = join(import.meta.dirname, '../../../daemons')

/** A folder for the report, and a machine whose programs say these things. */
function machine(t: Test, programs: Record<string, string> = {}) {
  const folder = t.testdir({
    bin: Object.fromEntries(Object.entries(programs).map(([name, text]) => [name, `#!/bin/sh\n${text}\n`])),
  })
  for (const name of Object.keys(programs)) chmodSync(join(folder, 'bin', name), 0o755)
  const file = join(folder, 'report.tar.gz')
  const read = (path: string) =>
    execFileSync('tar', ['-xzOf', file, `plantroom-report/${path}`], { encoding: 'utf8', maxBuffer: 1e8 })
  return { file, folder, given: { env: { PATH: join(folder, 'bin') } }, read }
}

t.test('one file holds what every daemon, its unit and the machine say', async (t) => {
  const { file, given, read } = machine(t, {
    journalctl: 'echo "2026-11-27 the log: $*"',
    systemctl: 'echo "$*"',
    lsusb: 'exit 3',
  })
  const { code, out } = await runCommand(report, [file, '--since', 'yesterday'], given)
  t.equal(code, 0)
  t.match(out, /report\.tar\.gz: \d+ files, \d+ kB\. Look through it before it leaves the house/)
  t.match(read('about.txt'), /^Plantroom \S+ on Node v24/)
  t.match(read('status.txt'), /^daemon +unit +address[\s\S]*small/)
  t.match(JSON.parse(read('status.json')), [{ daemon: 'small', health: 'no answer' }])
  t.match(read('logs/small.txt'), /the log: .*--unit=plantroom-small\.service --since=yesterday --lines=20000/)
  for (const name of UPDATERS) t.match(read(`logs/${name}.txt`), `plantroom-${name}.service`)
  t.match(read('units/small.txt'), /^show plantroom-small\.service --property=ActiveState,/)
  t.match(read('settings/small.txt'), /all is as by default/)
  t.equal(read('system/usb.txt'), 'lsusb failed: code 3\n')
  t.equal(read('system/clock.txt'), 'timedatectl is not installed here\n')
})

t.test('only its owner can read it, and JSON says what is in it', async (t) => {
  const { file, given } = machine(t)
  const { out } = await runCommand(report, [file, '--json'], given)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const said = JSON.parse(out)
  t.match(said, { file, bytes: statSync(file).size })
  t.ok(said.files.includes('settings/small.txt'))
})

t.test('of an installation in a folder of its own, the settings are in it', async (t) => {
  const { file, folder, given, read } = machine(t)
  mkdirSync(join(folder, 'etc/plantroom'), { recursive: true })
  writeFileSync(join(folder, 'etc/plantroom/small.toml'), '[http]\nlisten = "0.0.0.0:4000"\n')
  await runCommand(report, [file], { env: { ...given.env, PLANTROOM_BASE: folder } })
  t.match(read('settings/small.txt'), /^http\.listen = "0\.0\.0\.0:4000"$/m)
})

t.test('what is there is not overwritten, and a link is not followed', async (t) => {
  const { file, folder, given } = machine(t)
  writeFileSync(file, 'mine')
  t.match(await runCommand(report, [file], given), {
    code: 'report_failed',
    err: /is there already: name another file/,
  })
  t.equal(readFileSync(file, 'utf8'), 'mine')
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'))
  t.match(await runCommand(report, [join(folder, 'link')], given), { code: 'report_failed' })
  t.notOk(existsSync(join(folder, 'elsewhere')))
  t.match(await runCommand(report, [join(folder, 'none/x')], given), { code: 'report_failed', err: /ENOENT/ })
  t.same(readdirSync(folder).sort(), ['bin', 'link', 'report.tar.gz'])
})

t.test('secrets that a log or a unit holds are left out, whatever they are called', async (t) => {
  const lines = [
    'PASSWORD=hidden1',
    '{"apiKeys":"hidden2","tokens": "hidden3"}',
    'mqtt://user:hidden4@broker:1883',
    'Authorization: Bearer hidden5',
    'posted to https://hooks.example.com/services/hidden6/hidden7',
    'GET /still.jpg?token=hidden8&x=1',
    "passphrase: 'hidden9'",
  ]
  const { file, given, read } = machine(t, {
    journalctl: lines.map((line) => `printf '%s\\n' '${line.replaceAll("'", `'\\''`)}'`).join('\n'),
  })
  await runCommand(report, [file], given)
  const log = read('logs/small.txt')
  t.notMatch(log, /hidden/)
  t.match(log, /broker:1883/)
  t.match(log, /https:\/\/hooks\.example\.com\/\*\*\*/)
})

t.test('a program that says too much is cut, and says so', async (t) => {
  const { file, given, read } = machine(t, { journalctl: '/bin/head -c 9000000 /dev/zero | /bin/tr "\\0" a' })
  await runCommand(report, [file], given)
  t.match(read('logs/small.txt').slice(-60), /\(cut here, after 8388608 bytes\)\n$/)
})

t.test('each setting whose name speaks of a secret is a file, a number or is left out', async (t) => {
  for (const name of daemonNames(SOURCES)) {
    const { config } = await loadDaemon(SOURCES, name)
    for (const [table, { properties }] of Object.entries(schemaTables(config)))
      for (const [key, { type, secret }] of Object.entries(properties))
        if (/pass|secret|token|key|credential/i.test(key) && type === 'string' && !secret)
          t.match(key, /_file$|^access_key$|^public_key$/, `${name}: ${table}.${key}`)
  }
})
