/** plantroom report. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { schemaTables } from '#kit/config/load.ts'
import { holdsLater } from '#kit/test/holds.ts'
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

t.test('of a program that says too much the newest is kept, in whole lines, and the cut is told', async (t) => {
  const lines =
    'i=0; while [ $i -lt 9 ]; do /bin/head -c 999900 /dev/zero | /bin/tr "\\0" .; echo " line $i"; i=$((i+1)); done'
  const { file, given, read } = machine(t, { journalctl: lines })
  await runCommand(report, [file], given)
  const [told = '', ...kept] = read('logs/small.txt').trimEnd().split('\n')
  t.match(told, /^\(cut here, at the beginning: \d+ older bytes are left out\)$/)
  t.same(
    kept.map((line) => line.replace(/^\.{999900}/, '')),
    [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ` line ${n}`),
  )
})

t.test('what journalctl says of rights that the caller lacks is in it', async (t) => {
  const { file, given, read } = machine(t, { journalctl: 'echo "-- No entries --"; echo "Hint: password=hidden" >&2' })
  await runCommand(report, [file], given)
  t.equal(read('logs/small.txt'), '-- No entries --\nHint: password=***\n')
})

t.test('a time that is none makes no report, which would have no logs', async (t) => {
  const { file, given } = machine(t, { journalctl: 'echo "Failed to parse timestamp: yesteday" >&2; exit 1' })
  t.match(await runCommand(report, [file, '--since', 'yesteday'], given), { code: 'bad_usage', err: /no "yesteday"/ })
  t.notOk(existsSync(file))
})

t.test('no secret of a log, a unit, a setting or a refusal is in the report', async (t) => {
  const secret = fc.uuid().map((id) => `q${id.slice(0, 13)}Z`)
  await holdsLater(
    t,
    fc.asyncProperty(secret, async (secret) => {
      const lines = [
        ...[`rtsp://u:p@ss/${secret}@host/`, `{"tokens":["a b","${secret}"]}`, `x --password ${secret} y`],
        ...[`Cookie: a=b; c=${secret}`, `secret_key='a ${secret}'`, `https://hooks.example/${secret}`],
        `http://ann:${secret}@updates.example:3131/x`,
      ]
      const says = `/bin/cat <<"END"\n${lines.join('\n')}\nend\nEND`
      const { file, folder, given } = machine(t, { journalctl: says, systemctl: says, ip: says })
      mkdirSync(join(folder, 'etc/plantroom'), { recursive: true })
      const settings = (name: string, text: string) => writeFileSync(join(folder, `etc/plantroom/${name}.toml`), text)
      settings('small', `[http]\nlisten = ["${secret}"]\n`)
      settings('update', `update_url = "http://ann:${secret}@updates.example:3131/${secret}"\n`)
      await runCommand(report, [file], { env: { ...given.env, PLANTROOM_BASE: folder } })
      const all = execFileSync('tar', ['-xzOf', file], { encoding: 'utf8' })
      rmSync(file)
      return !all.includes(secret) && all.includes('http://***@updates.example:3131/***') && all.includes('end')
    }),
    { numRuns: 3 },
  )
})

t.test('settings that are refused say where and what is expected, and not what was seen', async (t) => {
  const { file, folder, given, read } = machine(t)
  mkdirSync(join(folder, 'etc/plantroom'), { recursive: true })
  const at = { env: { ...given.env, PLANTROOM_BASE: folder } }
  for (const [text, said] of [
    ['[http]\nlisten = "hidden"\n', /http\.listen .* line 2\): is refused; plantroom check-config says why/],
    ['[http]\nsocket_ping_ms = "hidden"\n', /socket_ping_ms .* line 2\): saw something else, expected a whole number/],
    ['[http]\nlisten = hidden\n', /line 2: is not TOML; plantroom check-config says why/],
  ] as const) {
    writeFileSync(join(folder, 'etc/plantroom/small.toml'), text)
    await runCommand(report, [file], at)
    t.match(read('settings/small.txt'), said)
    t.notMatch(read('settings/small.txt'), /hidden/)
    rmSync(file)
  }
})

t.test(
  'a setting for the file of a secret shows a file that is there, and no password that stands in its place',
  async (t) => {
    const { file, folder, given, read } = machine(t)
    mkdirSync(join(folder, 'etc/plantroom'), { recursive: true })
    const there = join(folder, 'etc/plantroom/secret')
    writeFileSync(there, 'x')
    const cases = [
      [there, JSON.stringify(there)],
      ['hidden', '(set, and left out, since it is no absolute path)'],
      ['/hidden', '(set, and left out, since it is no file that is there)'],
    ] as const
    for (const [set, shown] of cases) {
      writeFileSync(join(folder, 'etc/plantroom/gateway.toml'), `[mqtt]\npassword_file = ${JSON.stringify(set)}\n`)
      const env = { ...given.env, PLANTROOM_BASE: folder }
      await runCommand(report, [file], { env, daemonsFolder: SOURCES })
      t.match(read('settings/gateway.txt'), `mqtt.password_file = ${shown}\n`)
      rmSync(file)
    }
  },
)

t.test('each setting whose name speaks of a secret is a file, a number or is left out', async (t) => {
  for (const name of daemonNames(SOURCES)) {
    const { config } = await loadDaemon(SOURCES, name)
    for (const [table, { properties }] of Object.entries(schemaTables(config)))
      for (const [key, { type, secret }] of Object.entries(properties))
        if (/pass|secret|token|key|credential/i.test(key) && type === 'string' && !secret)
          t.match(key, /_file$|^access_key$|^public_key$/, `${name}: ${table}.${key}`)
  }
})
