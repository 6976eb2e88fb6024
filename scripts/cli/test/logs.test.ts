/** plantroom logs. */
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { daemonNames } from '../daemons.ts'
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
    ...['--no-pager', '--unit=plantroom-small.service'],
    ...UPDATERS.map((name) => `--unit=plantroom-${name}.service`),
    ...['--lines=200', '--output=short-iso'],
  ])
})

t.test('the units that it asks for are those that are installed', async (t) => {
  const top = join(import.meta.dirname, '../../..')
  const asked = [...daemonNames(join(top, 'daemons')), ...UPDATERS].map((name) => `plantroom-${name}.service`)
  const installed = readdirSync(join(top, 'systemd')).filter((name) => name.endsWith('.service'))
  // The helper is started by its socket for one task, and says what came of it to the daemon that asked.
  t.same(asked.sort(), installed.filter((name) => name !== 'plantroom-helper.service').sort())
})

t.test('asks for one daemon, a time, and what is to be looked at', async (t) => {
  const { asked, given } = journalThat(t, 'exit 0')
  t.equal(
    (await runCommand(logs, ['small', '--since', '10 min ago', '--problems', '--json', '--follow'], given)).code,
    0,
  )
  t.same(asked().slice(1), [
    ...['--unit=plantroom-small.service', '--lines=all', '--output=json', '--quiet', '--since=10 min ago'],
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
  t.match(await runCommand(logs, [], given), { code: 'no_journal', err: 'journalctl ended with 1, and said above why' })
  t.match(await runCommand(logs, [], { env: { PATH: t.testdir() } }), {
    code: 'no_journal',
    err: /does not run systemd/,
  })
})

t.test('what journalctl says of rights that the caller lacks is shown', async (t) => {
  const { given } = journalThat(t, 'echo "Hint: You are currently not seeing messages from other users" >&2')
  t.match(await runCommand(logs, [], given), { code: 0, err: /^Hint: You are currently not seeing/ })
})
