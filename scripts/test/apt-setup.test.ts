import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const script = join(import.meta.dirname, '../apt-setup.sh')

/** Runs the script where `dpkg-query`, `apt-get`, `id` and `sudo` are the ones given, each as a shell text. */
function run(t: Test, commands: Record<string, string>, ...args: string[]) {
  const texts = Object.entries(commands).map(([name, text]) => [name, `#!/bin/sh\n${text}\n`])
  const folder = t.testdir(Object.fromEntries(texts))
  for (const name of Object.keys(commands)) chmodSync(join(folder, name), 0o755)
  const env = { PATH: `${folder}:/usr/bin:/bin`, SEEN: join(folder, 'seen') }
  return spawnSync('/bin/sh', [script, ...args], { encoding: 'utf8', env })
}

const nothingInstalled = 'exit 1'
const allInstalled = 'printf installed'

t.test('is silent when nothing is missing', async (t) => {
  const { status, stdout, stderr } = run(t, { 'dpkg-query': allInstalled }, 'build', 'test')
  t.same([status, stdout, stderr], [0, '', ''])
})

t.test('without root prints the exact command and ends with 3', async (t) => {
  const commands = { 'dpkg-query': nothingInstalled, id: 'echo 1000', sudo: 'exit 1' }
  const { status, stderr } = run(t, commands, 'build')
  t.equal(status, 3)
  t.match(stderr, /apt-get install -y --no-install-recommends g\+\+ .*make .*python3\n/)
})

t.test('as root installs, and updates once when that fails', async (t) => {
  const aptGet = 'echo "$*" >>"$SEEN"; case "$*" in *update*) touch "$SEEN.updated";; *) [ -e "$SEEN.updated" ];; esac'
  const { status, stdout } = run(t, { 'dpkg-query': nothingInstalled, id: 'echo 0', 'apt-get': aptGet }, 'bench')
  t.equal(status, 0)
  t.match(stdout, /installing Debian packages: .*\bser2net socat\b/)
})

t.test('uses sudo where it asks for no password', async (t) => {
  const commands = { 'dpkg-query': nothingInstalled, id: 'echo 1000', sudo: '[ "$1" = -n ] && exit 0' }
  t.equal(run(t, commands, 'bench').status, 0)
})

t.test('says what apt said when it fails, and ends with 4', async (t) => {
  const commands = { 'dpkg-query': nothingInstalled, id: 'echo 0', 'apt-get': 'echo no such package; exit 100' }
  const { status, stderr } = run(t, commands, 'bench')
  t.equal(status, 4)
  t.match(stderr, /no such package[\s\S]*could not install: .*\bser2net socat\b/)
})

t.test('refuses a purpose that it does not know', async (t) => {
  t.equal(run(t, {}, 'coffee').status, 2)
})

t.test('--check installs nothing, and says what cannot be installed from here', async (t) => {
  const refused = { 'dpkg-query': nothingInstalled, id: 'echo 1000', sudo: 'exit 1', 'apt-get': 'touch "$SEEN"' }
  const { status, stderr } = run(t, refused, '--check', 'build', 'test')
  t.equal(status, 3)
  t.match(stderr, /apt-get install -y --no-install-recommends .*g\+\+ .*tshark/, 'one list for all that is asked for')
  t.equal(run(t, { ...refused, id: 'echo 0' }, '--check', 'build').status, 0)
  t.notOk(existsSync(join(t.testdirName, 'seen')))
})

t.test('asks for Node and npm by their commands, since they may have come from elsewhere', async (t) => {
  const commands = { 'dpkg-query': nothingInstalled, id: 'echo 1000', sudo: 'exit 1' }
  const asked = (names: readonly string[]) => {
    const { stderr } = run(
      t,
      { ...commands, ...Object.fromEntries(names.map((name) => [name, ''])) },
      '--check',
      'build',
    )
    return / nodejs| npm/.test(stderr)
  }
  t.equal(asked(['node', 'npm']), false)
})
