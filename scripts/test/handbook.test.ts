/** Man pages and completion, made from the commands' own help and the daemons' own settings. */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { Type } from 'typebox'
import { schemaTables } from '#kit/config/load.ts'
import { commands } from '../cli/commands.ts'
import { daemonNames, loadDaemon } from '../cli/daemons.ts'
import { bashCompletion, commandPage, settingsPage } from '../handbook.ts'

const SOURCES = join(import.meta.dirname, '../../daemons')
const names = daemonNames(SOURCES)

/** What bash offers behind these words. */
function offered(t: Test, ...words: string[]): string[] {
  const folder = t.testdir({ completion: bashCompletion(commands, names) })
  const script = `. ${folder}/completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plantroom; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script, '-', ...words], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)
}

t.test('bash completes commands, their options, and daemons where one is to be named', async (t) => {
  t.same(offered(t, 'plantroom', 'sta'), ['status'])
  t.same(offered(t, 'plantroom', 'logs', '--pro'), ['--problems'])
  t.same(offered(t, 'plantroom', 'backup', 'ga'), ['gateway'])
  t.same(offered(t, 'plantroom', 'gateway', '--lis'), ['--listen'])
  t.same(offered(t, 'plantroom', 'updates', 'ke'), ['keys'])
  t.same(offered(t, 'plantroom', 'network', 'con'), ['confirm'])
  t.same(offered(t, 'plantroom', 'network', 'set', '--g'), ['--gateway'])
  t.same(offered(t, 'plantroom', 'no-such', ''), [])
})

t.test('the page of the commands has each of them, with its whole help, and man finds no fault in it', async (t) => {
  const daemons = await Promise.all(names.map((name) => loadDaemon(SOURCES, name)))
  const page = commandPage(commands, daemons)
  for (const { name } of commands) t.match(page, `.SS plantroom ${name.replaceAll('-', '\\-')}\n`)
  checked(t, page)
})

t.test('the page of each daemon has each of its settings', async (t) => {
  for (const name of names) {
    const daemon = await loadDaemon(SOURCES, name)
    const page = settingsPage(daemon)
    for (const { properties } of Object.values(schemaTables(daemon.config)))
      for (const key of Object.keys(properties))
        t.ok(page.includes(`.B ${key.replaceAll('-', '\\-')}\n`), `${name}: ${key}`)
    checked(t, page)
  }
})

t.test('what a description says cannot become a command of roff', async (t) => {
  const text = Type.String({ default: '.so /etc/passwd', description: "'\\n.so x\n.sy rm\n'ex" })
  const page = settingsPage({ name: 'x', title: 'X', config: Type.Object({ table: Type.Object({ text }) }) })
  t.notMatch(page, /^[.'](?:so|sy|ex)/m)
  t.match(page, "\\&.sy rm\n\\&'ex")
})

/** Where groff is installed: nothing that it warns of is left. */
function checked(t: Test, page: string): void {
  const file = join(t.testdir(), 'page')
  writeFileSync(file, page)
  const { error, stderr } = spawnSync(
    'groff',
    ['-man', '-Tutf8', '-wmac', '-wsyntax', '-wescape', '-Wbreak', '-z', file],
    {
      encoding: 'utf8',
    },
  )
  if (!error) t.equal(stderr, '')
}
