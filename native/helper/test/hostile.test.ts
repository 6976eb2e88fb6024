/** Whatever comes in, the helper answers or hangs up, does nothing it was not asked for, and goes on. */

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { startHelper } from './running-helper.ts'
import { hasDescriptors, sayWithDescriptors } from './with-descriptors.ts'

const ANSWER = /^(ok( [ -~]*)?|error [a-z_]+ [ -~]+)\n$/

function opened(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.on('error', reject)
    socket.once('connect', () => resolve(socket))
  })
}

/** Who asks: user, group, further groups. */
type Who = readonly [uid: number, gid: number, groups: readonly number[]]

/** Each asks for a restart, one after the other. @returns the answers */
function sayAs(path: string, who: readonly Who[]): string[] {
  const program = `
import json, os, socket, sys
def ask(uid, gid, groups):
    os.setgroups(groups); os.setgid(gid); os.setuid(uid)
    far = socket.socket(socket.AF_UNIX)
    try:
        far.connect(sys.argv[1])
        far.sendall(b'reboot\\n')
        return far.recv(512)
    except PermissionError: return b'no way in'
    except ConnectionError: return b'hung up'
answers = []
for who in json.loads(sys.argv[2]):
    near, far = os.pipe()
    if os.fork() == 0:
        os.write(far, ask(*who))
        os._exit(0)
    os.wait()
    answers.append(os.read(near, 512).decode())
json.dump(answers, sys.stdout)
`
  const words = ['-I', '-c', program, path, JSON.stringify(who)]
  return JSON.parse(spawnSync('python3', words, { encoding: 'utf8', timeout: 25_000 }).stdout)
}

/** What a process has open. */
function openIn(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder)
    .map((fd) => readlinkSync(`${folder}/${fd}`).replace(/:\[\d+\]$/, ''))
    .sort()
}

const ended = (socket: Socket) =>
  new Promise<void>((resolve) => {
    if (socket.closed) resolve()
    else socket.resume().once('close', () => resolve())
  })

t.test('random bytes are answered by a refusal, and nothing is run', async (t) => {
  const helper = await startHelper(t)
  const verbs = ['usbip-bind', 'usbip-attach', 'hostname', 'network', 'install', 'lamp', 'reboot now']
  const line = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from([...bytes, 10])),
    fc.tuple(fc.constantFrom(...verbs), fc.string()).map(([verb, text]) => Buffer.from(`${verb} ${text}\x01\n`)),
  )
  await fc.assert(
    fc.asyncProperty(line, async (bytes) => /^error [a-z_]+ [ -~]+\n$/.test(await helper.say(bytes))),
    { numRuns: 300 },
  )
  t.same(helper.ran(), [])
  t.match(await helper.say('reboot\n'), ANSWER)
  t.same(helper.ran(), ['systemctl --no-ask-password --no-block reboot'])
})

t.test('a line without end, a second line, and a line of nothing are refused', async (t) => {
  const helper = await startHelper(t)
  t.equal(await helper.say('x'.repeat(2000)), 'error bad_request the line is too long\n')
  t.match(await helper.say(`${'x'.repeat(2000)}\n`), /^error bad_request/)
  t.match(await helper.say(randomBytes(1_000_000)), /^(error bad_request [ -~]+\n)?$/)
  t.equal(await helper.say('reboot\nreboot\n'), 'error bad_request one request a connection\n')
  t.match(await helper.say('\n'), /^error bad_request expected words/)
  t.match(await helper.say('reboot \n'), /^error bad_request expected words/)
  t.match(await helper.say(' reboot\n'), /^error bad_request expected words/)
  t.match(await helper.say('reboot\0\n'), /^error bad_request expected words/)
  t.match(await helper.say('halt\n'), /^error unknown_verb/)
  t.same(helper.ran(), [])
})

t.test('a request that comes byte by byte is taken', async (t) => {
  const helper = await startHelper(t)
  const socket = await opened(helper.path)
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  for (const byte of 'reboot\n') {
    socket.write(byte)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await ended(socket)
  t.equal(answer, 'ok\n')
})

t.test('who is slow is let go after two seconds; eight of them keep a ninth waiting no longer', async (t) => {
  const helper = await startHelper(t)
  const slow = await Promise.all(Array.from({ length: 8 }, () => opened(helper.path)))
  for (const socket of slow) socket.write('reb')
  const startedMs = performance.now()
  t.equal(await helper.say('hostname cellar-1\n'), 'ok\n')
  const tookMs = performance.now() - startedMs
  // One after the other they would take 16 s.
  t.ok(tookMs > 1500 && tookMs < 15_000, `${tookMs} ms`)
  await Promise.all(slow.map(ended))
  t.same(helper.ran().length, 1)
})

t.test('who hangs up in the middle leaves nothing behind', async (t) => {
  const helper = await startHelper(t)
  const before = openIn(helper.pid)
  for (let round = 0; round < 50; round++) {
    const socket = await opened(helper.path)
    socket.write('hostname cel')
    socket.destroy()
  }
  t.equal(await helper.say('reboot\n'), 'ok\n')
  t.same(helper.ran().length, 1)
  t.same(openIn(helper.pid), before)
})

t.test(
  'descriptors that nobody asked for are closed again',
  { skip: hasDescriptors ? false : 'python3 3.9 is not installed' },
  async (t) => {
    const helper = await startHelper(t)
    const before = openIn(helper.pid)
    const [many, nonsense] = sayWithDescriptors(helper.path, [
      ['usbip-attach 1-1\n', Array(250).fill('file')],
      ['nonsense\n', ['tcp']],
    ])
    t.match(many, /^error bad_descriptor/)
    t.match(nonsense, /^error unknown_verb/)
    t.same(openIn(helper.pid), before)
  },
)

t.test(
  'a user who is not among those who may ask is turned away',
  { skip: process.getuid?.() === 0 ? false : 'only root can be somebody else' },
  async (t) => {
    const helper = await startHelper(t, ['--group', 'nogroup'])
    chmodSync(helper.root, 0o755)
    const [stranger, member, further] = sayAs(helper.path, [
      [1234, 1234, []],
      [1234, 65_534, []],
      [1234, 1234, [65_534]],
    ])
    t.equal(stranger, 'no way in')
    t.equal(member, 'ok\n', 'its group may')
    t.equal(further, 'ok\n', 'one of its groups may')
    chmodSync(helper.path, 0o666)
    const [again] = sayAs(helper.path, [[1234, 1234, []]])
    t.match(again, /^(error not_allowed this user may not ask the helper\n|hung up)$/)
    t.same(helper.ran().length, 2)
  },
)
