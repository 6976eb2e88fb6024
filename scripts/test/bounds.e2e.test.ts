/** The daemons as they are built, filled to their bounds: no more memory than their units allow, and others are served. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { addressOf } from '#kit/test/http/half-open.ts'
import { mostResidentMb } from '#kit/test/process-memory.ts'
import { type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { memorySum } from '../memory-facts.ts'

const ROOT = join(import.meta.dirname, '../..')
const MB = 1e6
const MIB = 1_048_576
const PASSWORD = 'correct horse battery'
/** As many as may wait on one connection, and the one that is answered. */
const PIPELINED = 65
const ADDRESSES = 8
/** Three of each address. */
const INSISTING = 24
/** Thousands of answers are made until the kernel holds no more of them: a second or two, but on a machine that is taken. */
const UNREAD_MS = 90_000
const HTTP_ROWS = 'kit/test/http/'

interface Attacked {
  name: string
  sets: string[]
  /** @returns the largest thing that may be asked for, and headers that allow it */
  prepare(url: string): Promise<{ path: string; headers: string }>
  /** What anybody may ask. */
  open: string
  /** Takes a body of that size. */
  body: { path: string; bytes: number }
}

const attacked: Attacked[] = [
  {
    name: 'gateway',
    sets: [],
    async prepare(url) {
      const body = JSON.stringify({ username: 'admin', password: PASSWORD })
      const answer = await fetch(`${url}/api/setup`, { method: 'POST', body, headers: JSON_TYPE })
      const { token } = (await answer.json()) as { token: string }
      return { path: '/api/openapi.json', headers: `Authorization: Bearer ${token}\r\n` }
    },
    open: '/',
    body: { path: '/api/login', bytes: 65_536 },
  },
  {
    name: 'board',
    sets: ['board.role=serial'],
    prepare: async () => ({ path: '/api/openapi.json', headers: '' }),
    open: '/api/status',
    body: { path: '/api/config', bytes: 65_536 },
  },
]

const JSON_TYPE = { 'content-type': 'application/json' }

for (const { name, sets, prepare, open, body } of attacked)
  t.test(`the ${name} with all its connections taken holds what its table says, and answers others`, async (t) => {
    const daemon = await startDaemon(t, name, { sets: ['mdns.enabled=false', 'http.stalled_ms=4000', ...sets] })
    const { path, headers } = await prepare(daemon.url)
    const asking = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
    const unread = await connectAll(t, daemon, { from: 1, each: 25 })
    // Of most of them the kernel takes what they asked for; those that ask on and on fill the rest.
    for (const [at, socket] of unread.entries()) socket.write(asking.repeat(at < INSISTING ? PIPELINED : 1))
    const type = name === 'board' ? 'application/x-www-form-urlencoded' : 'application/json'
    const head = `POST ${body.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${body.bytes}\r\n`
    const posting = await connectAll(t, daemon, { from: 1 + ADDRESSES, each: 35 })
    for (const socket of posting)
      socket.write(`${head}X-Long: ${'x'.repeat(12_000)}\r\n\r\n${'x'.repeat(body.bytes - 1)}`)
    for (let round = 0; round < 5; round++)
      t.equal(await statusOf(daemon.url + open), 200, 'another address is answered')
    await until('who reads nothing is ended', () => daemon.output().includes('unread_answers_ended'), UNREAD_MS)
    t.equal(await statusOf(daemon.url + open), 200, 'and afterwards')
    const sum = await memorySum(ROOT, name)
    const [idle, garbage] = [sum.lines[0], sum.lines.at(-1)]
    const filled = sum.lines.filter((line) => line === idle || line === garbage || line.shownBy?.startsWith(HTTP_ROWS))
    const allowed = filled.reduce((bytes, { allBytes }) => bytes + allBytes, 0) / MB
    const most = mostResidentMb(daemon.pid)
    t.comment(`${most.toFixed(0)} MB, of ${allowed.toFixed(0)} by the rows that are filled`)
    t.ok(most < allowed, `${most} MB, and the rows that are filled come to ${allowed}`)
    t.ok(most < (sum.memoryMaxMib * MIB) / MB)
    t.equal(await daemon.stop(), 0)
  })

const started = [...attacked, { name: 'controller', sets: [], open: '/api/health' }]

// They wait, and share nothing.
t.jobs = 3

for (const { name, sets, open } of started) {
  const title = `the ${name} lives where it may open 64 files, and answers when those who took them have gone`
  t.test(title, { buffered: true }, async (t) => {
    const within = ['sh', '-c', 'ulimit -n 64; exec "$0" "$@"']
    const daemon = await startDaemon(t, name, { sets, within })
    t.match(daemon.output(), /few files may be open/)
    const held = await connectAll(t, daemon, { from: 1, each: 12 })
    for (const socket of held) socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
    // What looks at files and interfaces by itself has its turn meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 3000))
    for (const socket of held) socket.destroy()
    await until('it answers', async () => (await statusOf(daemon.url + open)) === 200)
    t.equal(await daemon.stop(), 0)
    t.notMatch(daemon.output(), /EMFILE|uncaught|unhandled|\n {4}at /i)
  })
}

/** So many connections from each of eight addresses, which read nothing. Some may be turned away. */
async function connectAll(t: Test, { url }: RunningDaemon, by: { from: number; each: number }): Promise<Socket[]> {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  for (let at = 0; at < ADDRESSES * by.each; at++) {
    const localAddress = addressOf(by.from + (at % ADDRESSES))
    const socket = connect({ host: hostname, port: Number(port), localAddress }).on('error', () => {})
    t.teardown(() => socket.destroy())
    socket.pause()
    sockets.push(socket)
    await once(socket, 'connect')
  }
  return sockets
}

/** Asked from an address of its own, on a connection of its own. @returns 0 where there was no answer */
function statusOf(url: string): Promise<number> {
  return new Promise((resolve) => {
    const asked = request(url, { localAddress: addressOf(200), agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    asked.on('error', () => resolve(0))
    asked.end()
  })
}
