/** Commands of root on the folders of others, who have put links, pipes and folders in the place of everything in them. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import board from '../../../daemons/board/main.ts'
import controller from '../../../daemons/controller/main.ts'
import gateway from '../../../daemons/gateway/main.ts'
import { commands } from '../commands.ts'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')
const skip = process.geteuid?.() === 0 ? false : 'only root acts for others'
const EVE = 64_123
const BOB = 64_125
const SITE = JSON.stringify({
  site: [{ name: 'Mill' }],
  macro: [{ name: 'Tell' }],
  macro_step: [{ macro_id: 'Tell', position: 1, type: 'delay', args: { ms: 1 } }],
})

/** What every command that touches state is called with, `STATE` and `FILE` standing for the folder and a file of root's. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  password: ['password', 'gateway', '--state', 'STATE'],
  backup: ['backup', 'gateway', '--replace', '--state', 'STATE', 'FILE'],
  restore: ['restore', 'gateway', '--state', 'STATE', 'FILE'],
  'updates backup': ['updates', 'backup', '--replace', '--state', 'STATE', 'FILE'],
  'updates restore': ['updates', 'restore', '--state', 'STATE', 'FILE'],
  'controller import': ['controller', 'import', 'FILE', '--state', 'STATE'],
  'controller export': ['controller', 'export', 'FILE', '--state', 'STATE'],
  'controller simulate': ['controller', 'simulate', 'Tell', '--state', 'STATE'],
  'controller replay': ['controller', 'replay', '1', '--state', 'STATE'],
}
/** Commands that touch none of a daemon's. */
const STATELESS = [
  ...[
    'status',
    'logs',
    'report',
    'check-config',
    'label',
    'network',
    'network set',
    'network confirm',
    'banner',
    'slot',
    'firmware',
    'publish',
    'units',
    'update',
    'updates keys',
  ],
]

/** Names in the folder that the commands open, and what is beside them for an instant. */
const NAMES = ['daemon.lock', 'journal.jsonl', 'users.json', 'controller.db', 'audit.db', 'restore']
const BESIDE = ['', '.tmp', '.bak', '.bak.tmp', '.new', '-wal', '-shm', '-journal']

interface Place {
  folder: string
  state: string
  /** Root's alone. */
  own: string
  /** @returns how a command ended and all it said */
  run(call: readonly string[], input?: string): { code: number | null; said: string }
}

function placeOf(t: Test, owner = EVE): Place {
  const folder = mkdtempSync('/tmp/as-owner-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const state = join(folder, 'state')
  const own = join(folder, 'own')
  mkdirSync(state, { mode: 0o700 })
  chownSync(state, owner, owner)
  mkdirSync(own, { mode: 0o700 })
  writeFileSync(join(own, 'victim'), 'victim\n', { mode: 0o600 })
  return {
    folder,
    state,
    own,
    run(call, input = 'correct horse\n') {
      const file = join(own, 'file')
      const words = call.map((word) => ({ STATE: state, FILE: file })[word] ?? word)
      const { status, stdout, stderr } = spawnSync(COMMAND, words, { input, encoding: 'utf8', timeout: 20_000 })
      return { code: status, said: stdout + stderr }
    },
  }
}

/** All that is root's in a place, with whose it is and what it holds. */
function rootsOwn({ folder, own }: Place): string[] {
  const about = (path: string) => {
    const found = lstatSync(path)
    // A folder's size says nothing: on some disks it grows with each entry that the command may put there.
    return `${path} ${found.uid} ${found.mode.toString(8)} ${found.isDirectory() ? 'folder' : found.size}`
  }
  return [
    about(folder),
    ...readdirSync(folder).filter((name) => name !== 'state'),
    ...readdirSync(own).map((name) => about(join(own, name))),
  ]
}

function asEve(script: string, cwd: string): void {
  execFileSync('setpriv', [`--reuid=${EVE}`, `--regid=${EVE}`, '--clear-groups', 'sh', '-c', script], { cwd })
}

t.test('every command says what it does with state, and none is missing here', (t) => {
  const world = {
    out() {},
    err() {},
    daemonsFolder: join(import.meta.dirname, '../../../daemons'),
    env: {},
    readPassword: async () => '',
  }
  const own = [board, controller, gateway].flatMap(({ name, commands: list }) => list.map((each) => `${name} ${each}`))
  t.same([...commands.map(({ name }) => name), ...own].sort(), [...Object.keys(CALLS), ...STATELESS].sort())
  for (const { name, stateUse } of commands) {
    const use = STATELESS.includes(name)
      ? stateUse([], world)
      : stateUse((CALLS[name] ?? []).slice(name.split(' ').length), world)
    t.equal(use !== undefined, !STATELESS.includes(name), name)
  }
  for (const name of own) {
    const [, ...words] = CALLS[name] ?? []
    t.ok(controller.stateUse(words), name)
  }
  t.end()
})

t.test('update: root works in no folder that somebody else may change', { skip }, (t) => {
  const place = placeOf(t)
  asEve(`ln -s ${join(place.own, 'victim')} pending.json`, place.state)
  const before = rootsOwn(place)
  const { code, said } = place.run(['update', '--yes', '--state', 'STATE', '--set', 'update_url=http://127.0.0.1:9'])
  t.equal(code, 1)
  t.match(said, /belongs to user 64123/)
  t.same(rootsOwn(place), before)
  t.end()
})

for (const [name, call] of Object.entries(CALLS)) {
  t.test(`${name}: links and pipes in the folder lead root nowhere`, { skip }, (t) => {
    const place = placeOf(t)
    if (name === 'controller import') writeFileSync(join(place.own, 'file'), SITE)
    if (name === 'restore') {
      const other = placeOf(t)
      t.match(other.run(CALLS.password ?? []), { code: 0 })
      t.match(other.run(['backup', 'gateway', '--state', 'STATE', join(place.own, 'file')]), { code: 0 })
    }
    const before = rootsOwn(place)
    const files = NAMES.flatMap((file) => BESIDE.map((end) => `${file}${end}`)).filter((file) => file !== 'daemon.lock')
    const links = files.map((file, at) => `ln -s ../own/${at % 2 === 0 ? 'victim' : `made-${file}`} ${file}`)
    asEve(links.join(' && '), place.state)
    place.run(call)
    asEve(`rm -rf * && ln -s ../own/made-lock daemon.lock && mkfifo ${NAMES.slice(1).join(' ')}`, place.state)
    t.notMatch(place.run(call), { code: null }, 'a pipe keeps nobody waiting')
    const after = rootsOwn(place).filter((line) => !/\/own\/file /.test(line))
    t.same(
      after,
      before.filter((line) => !/\/own\/file /.test(line)),
      'nothing of root was made, changed or given away',
    )
    t.equal(readFileSync(join(place.own, 'victim'), 'utf8'), 'victim\n')
    t.end()
  })

  t.test(`${name}: a folder of root’s in the way of the state is not taken`, { skip }, (t) => {
    const place = placeOf(t)
    if (/restore|import/.test(name)) writeFileSync(join(place.own, 'file'), SITE)
    asEve('ln -s ../own link', place.state)
    const words = call.map((word) => (word === 'STATE' ? join(place.state, 'link') : word))
    const before = rootsOwn(place)
    t.match(place.run(words), {
      code: 1,
      said: /belongs to user 0, and the way to it leads through what is user 64123's/,
    })
    t.same(rootsOwn(place), before)
    t.end()
  })
}

t.test('reads and writes what the caller may, and the folder where its owner may not pass', { skip }, (t) => {
  const place = placeOf(t)
  // As /var/lib/private, where systemd keeps the folders of a service's user.
  chmodSync(place.folder, 0o700)
  const site = join(place.own, 'site.json')
  const archive = join(place.own, 'b.tar.gz')
  writeFileSync(site, SITE, { mode: 0o600 })
  const at = ['--state', 'STATE']
  t.match(place.run(['controller', 'import', site, ...at]), { code: 0, said: /rows of .*site\.json are the site in/ })
  t.match(place.run(['password', 'controller', ...at, '--user', 'ada']), { code: 0, said: /ada of controller/ })
  t.match(place.run(['controller', 'export', 'FILE', ...at]), { code: 0 })
  t.match(JSON.parse(readFileSync(join(place.own, 'file'), 'utf8')), { site: [{ name: 'Mill' }] })
  t.match(place.run(['controller', 'simulate', 'Tell', ...at]), { code: 0 })
  t.match(place.run(['backup', 'controller', ...at, archive]), { code: 0, said: /files of controller are in/ })
  t.match(statSync(archive), { uid: 0, mode: 0o100600 })
  writeFileSync(join(place.state, 'later'), 'x')
  t.match(place.run(['restore', 'controller', ...at, archive]), {
    code: 0,
    said: /What was there is in .*state\/restore\/before\./,
  })
  t.notOk(existsSync(join(place.state, 'later')))
  t.same(
    ['.', ...readdirSync(place.state)].filter((name) => statSync(join(place.state, name)).uid !== EVE),
    [],
    'all of it is the owner’s',
  )
  t.match(place.run(['controller', 'import', site, ...at]), { code: 0, said: /nothing was changed/ })
  const beside = readdirSync(place.folder)
  t.match(place.run(['backup', 'controller', ...at, join(place.own, 'no/b.tar.gz')]), {
    code: 1,
    said: /could not be written \(ENOENT\)/,
  })
  writeFileSync(archive, 'nonsense')
  t.match(place.run(['restore', 'controller', ...at, archive]), { code: 2, said: /it is no backup of Plantroom/ })
  t.same(readdirSync(place.folder), beside, 'nothing is left beside it')
  t.same(readdirSync(join(place.state, 'restore')).sort(), ['before', 'done.json'], 'nor of what was refused')
  t.end()
})

t.test('names that somebody wrote into a file do not reach the terminal as they are', { skip }, (t) => {
  const place = placeOf(t)
  const username = 'eve\u001b]0;owned\u0007\u009b31m\u202e'
  const user = { username, role: 'admin', passwordHash: 'x', createdAt: 1 }
  writeFileSync(
    join(place.state, 'users.json'),
    JSON.stringify({ version: 1, users: [user, { ...user, username: 'b' }] }),
  )
  chownSync(join(place.state, 'users.json'), EVE, EVE)
  const asked = place.run(['password', 'gateway', '--state', 'STATE'])
  t.match(asked, { code: 2, said: 'there are: eve\\u001b]0;owned\\u0007\\u009b31m\\u202e, b' })
  const { said } = place.run(['password', 'gateway', '--state', 'STATE', '--user', username])
  t.match(said, 'has a new password')
  for (const sign of '\u001b\u0007\u009b\u202e') t.notOk((asked.said + said).includes(sign))
  t.end()
})

t.test('refuses a folder that a third one could exchange', { skip }, (t) => {
  const place = placeOf(t)
  const call = ['password', 'gateway', '--state', 'STATE']
  chmodSync(place.folder, 0o777)
  t.match(place.run(call), { code: 1, said: /others may write to it/ })
  chmodSync(place.folder, 0o755)
  chownSync(place.folder, BOB, BOB)
  t.match(place.run(call), {
    code: 1,
    said: /belongs to user 64123, and the way to it leads through what is user 64125's/,
  })
  t.same(readdirSync(place.state), [])
  t.end()
})

t.test('what is made in a folder of somebody else is his from the start', { skip }, (t) => {
  const place = placeOf(t)
  const made = join(place.state, 'a/b')
  t.match(place.run(['password', 'gateway', '--state', made]), { code: 0 })
  for (const path of [join(place.state, 'a'), made, join(made, 'users.json')]) t.equal(statSync(path).uid, EVE, path)
  t.end()
})

t.test('a daemon that root starts on a folder of somebody else becomes him', { skip }, (t) => {
  const place = placeOf(t)
  asEve('ln -s ../own/victim daemon.lock', place.state)
  const start = ['gateway', '--state', 'STATE', '--listen', '127.0.0.1:0', '--set', 'mdns.enabled=false']
  t.match(place.run(start), {
    code: 1,
    said: /who this daemon is from now on[\s\S]*daemon\.lock in it is not a plain file/,
  })
  symlinkSync(place.state, join(place.own, 'link'))
  chmodSync(place.folder, 0o700)
  t.match(place.run(start), { code: 1, said: /who may not pass through/ })
  t.end()
})
