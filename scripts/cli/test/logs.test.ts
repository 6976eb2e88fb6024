/** plantroom logs. */
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { logs, UPDATERS } from '../logs.ts'
import { runCommand } from './world.ts'

/** A journalctl that writes down what it is asked, then ends like this. */
function journalThat(t: Test, ends: string) {
  const folder = t.testdir({ journalctl: `#!/bin/sh\nprintf '%s\\n' "$@" > "\${0%/*}/asked"\n${ends}\n` })
  chmodSync(join(folder, 'journalctl'), 0o755)
  const asked = () => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')
  return { given: { env: { PATH: `${folder}:/bin` } }, asked }
}

t.test('asks the journal for the last lines of every daemon and of updates', async (t) => {
  const { asked, given } = journalThat(t, 'exit 0')
  t.match(await runCommand(logs, [], given), { code: 0, out: '', err: '' })
  t.same(asked(), [
    ...['--no-pager', '--quiet', '--unit=plantroom-small.service'],
    ...UPDATERS.map((name) => `--unit=plantroom-${name}.service`),
    ...['--lines=200', '--output=short-iso'],
  ])
})

t.test('the units of updates that it asks for are those that are installed', async (t) => {
  const units = readdirSync(join(import.meta.dirname, '../../../systemd'))
  t.same(
    [...UPDATERS].map((name) => `plantroom-${name}.service`).sort(),
    units.filter((name) => /^plantroom-update-.*\.service$/.test(name)).sort(),
  )
})

t.test('asks for one daemon, a time, and what is to be looked at', async (t) => {
  const { asked, given } = journalThat(t, 'exit 0')
  t.equal(
    (await runCommand(logs, ['small', '--since', '10 min ago', '--problems', '--json', '--follow'], given)).code,
    0,
  )
  t.same(asked().slice(2), [
    ...['--unit=plantroom-small.service', '--lines=all', '--output=json', '--since=10 min ago'],
    ...['--priority=warning', '--follow'],
  ])
})

t.test('hands journalctl nothing that it would take for an option of its own', async (t) => {
  const { given } = journalThat(t, 'exit 0')
  for (const argv of [
    ['--lines', '0'],
    ['--lines', '1e3'],
    ['--lines', '1000000'],
    ['no'],
    ['small', 'small'],
    ['--vacuum-size=1'],
  ])
    t.match(await runCommand(logs, argv, given), { code: /^(bad_usage|unknown_daemon)$/ }, argv.join(' '))
})

t.test('says why there is nothing to read', async (t) => {
  const { given } = journalThat(t, 'echo No journal files were opened >&2; exit 1')
  t.match(await runCommand(logs, [], given), {
    code: 'no_journal',
    err: 'journalctl says: No journal files were opened',
  })
  t.match(await runCommand(logs, [], { env: { PATH: t.testdir() } }), {
    code: 'no_journal',
    err: /does not run systemd/,
  })
})
