/**
 * Measures how soon a node of MS/TP uses the token, without and with 2,000 HTTP requests a second, with the real-time
 * priority of its thread and without; beside it bacnet-stack's server ($BACSERV, built with BACDL=mstp) where there is
 * one. The other node is scripts/bench/line-bench-mstp.h, on a pty. Prints a table and adds it to docs/bench/mstp.md.
 *
 *     node scripts/bench/mstp.ts [--rounds N] [--tokens N] [--note TEXT] [--print]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { end } from './bridges.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { startGateway } from './gateway-process.ts'
import { compileHarness, type Harness, type Measured, startHarness } from './line-harness.ts'

const REQUESTS_PER_SECOND = 2000
const MAC = 1
/** Until the token goes round, and code is compiled. */
const WARM_UP_TOKENS = 500
/** Tusage_delay. @source ANSI/ASHRAE 135-2016, 9.5.3 */
const USAGE_DELAY_MS = 15

/** Asks at a steady rate over a few connections; at its end it says how many answers came a second. */
const LOAD = `
const [url, token, rate] = process.argv.slice(1)
const { hostname, port } = new URL(url)
const request = 'GET /api/status HTTP/1.1\\r\\nhost: ' + hostname + '\\r\\nauthorization: Bearer ' + token + '\\r\\n\\r\\n'
const sockets = Array.from({ length: 16 }, () => {
  const socket = require('node:net').connect(Number(port), hostname)
  socket.waiting = 0
  socket.on('error', () => {})
  socket.on('data', (bytes) => {
    for (let at = bytes.indexOf('HTTP/1.1 '); at >= 0; at = bytes.indexOf('HTTP/1.1 ', at + 9)) {
      answers++
      socket.waiting--
    }
  })
  return socket
})
let [asked, answers] = [0, 0]
const startMs = performance.now()
const seconds = () => (performance.now() - startMs) / 1000
setInterval(() => {
  for (const socket of sockets)
    while (asked < seconds() * rate && socket.waiting < 16) {
      socket.write(request)
      socket.waiting++
      asked++
    }
}, 2)
process.on('SIGTERM', () => {
  console.log(Math.round(answers / seconds()))
  process.exit(0)
})
`

/** One program on the line: what is measured of it, and its share of the table. */
interface Subject {
  title: string
  harness: Harness
  /** Where HTTP requests go; undefined: it takes none. */
  reader: { url: string; token: string } | undefined
  stop(): Promise<void>
}

const root = dirname(dirname(import.meta.dirname))
const rounds = Number(optionOf('--rounds') ?? 5)
const tokens = Number(optionOf('--tokens') ?? 2000)

async function gatewaySubject(title: string, priority: number): Promise<Subject> {
  const harness = await startHarness(compileHarness(root, 'line-bench'))
  const gateway = await startGateway(root, ['--set', `mstp.realtime_priority=${priority}`])
  await gateway.addRing(harness.devices[0] ?? '', { mac: MAC, max_master: MAC, frames: 'data' })
  return {
    ...{ title, harness, reader: gateway.reader() },
    async stop() {
      harness.stop()
      await gateway.stop()
    },
  }
}

async function peerSubject(program: string): Promise<Subject> {
  const harness = await startHarness(compileHarness(root, 'line-bench'))
  const settings = { BACNET_IFACE: harness.devices[0], BACNET_MSTP_BAUD: '76800', BACNET_MSTP_MAC: String(MAC) }
  const env = { ...process.env, ...settings, BACNET_MAX_MASTER: String(MAC) }
  const child: ChildProcess = spawn(program, ['4711'], { env, stdio: 'ignore' })
  return {
    ...{ title: 'bacnet-stack', harness, reader: undefined },
    async stop() {
      harness.stop()
      await end(child)
    },
  }
}

/** @returns what was measured, and answers to requests a second */
async function measured({ harness, reader }: Subject, isBusy: boolean): Promise<{ got: Measured; rate: number }> {
  const ask = () => harness.measure(`mstp ${MAC} ${tokens}`)
  if (!isBusy || !reader) return { got: await ask(), rate: 0 }
  const args = ['-e', LOAD, reader.url, reader.token, String(REQUESTS_PER_SECOND)]
  const load = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = load.stdout.toArray()
  const got = await ask()
  load.kill('SIGTERM')
  await once(load, 'exit')
  return { got, rate: Number(Buffer.concat(await said)) }
}

function row(title: string, all: readonly { got: Measured; rate: number }[]): string {
  const sum = (name: string) => all.reduce((total, { got }) => total + (got[name] ?? 0), 0)
  const middle = (of: (one: (typeof all)[number]) => number) =>
    all.map(of).toSorted((one, other) => one - other)[all.length >> 1] ?? 0
  const ms = (us: number) => `${(us / 1000).toFixed(1)} ms`
  const rate = middle((one) => one.rate)
  return tableRow([
    title,
    rate > 0 ? `${rate} /s` : '-',
    `${middle(({ got }) => got.rate ?? 0).toFixed(0)} /s`,
    ms(middle(({ got }) => got.p50 ?? 0)),
    ms(middle(({ got }) => got.p99 ?? 0)),
    ms(Math.max(...all.map(({ got }) => got.most ?? 0))),
    `${sum('late')} of ${sum('tokens')}`,
    String(sum('dropped')),
  ])
}

const HEAD = `# The token of MS/TP

Made by \`make bench-mstp\`: the node passes the token to another, whose answer is timed, without and with 2,000 HTTP requests a
second (as many as the machine had time for).
`

async function main(): Promise<void> {
  const load = loadavg()[0] ?? 0
  const peer = process.env.BACSERV
  if (!peer) console.log('bacnet-stack is not measured: set BACSERV to its bacserv, built with BACDL=mstp')
  const subjects = [
    await gatewaySubject('gateway', 20),
    await gatewaySubject('gateway, without real-time priority', 0),
    ...(peer ? [await peerSubject(peer)] : []),
  ]
  const results = new Map<string, { got: Measured; rate: number }[]>()
  for (const { harness } of subjects) await harness.measure(`mstp ${MAC} ${WARM_UP_TOKENS}`)
  // In turns, so that what else the machine does falls on all.
  for (let round = 0; round < rounds; round++)
    for (const subject of subjects)
      for (const isBusy of subject.reader ? [false, true] : [false]) {
        const title = `${subject.title}${isBusy ? ', and HTTP' : ''}`
        const one = await measured(subject, isBusy)
        results.set(title, [...(results.get(title) ?? []), one])
      }
  for (const subject of subjects) await subject.stop()
  const heads = [
    'MS/TP, ring of two',
    'HTTP',
    'tokens',
    'p50',
    'p99',
    'longest',
    `over ${USAGE_DELAY_MS} ms`,
    'dropped',
  ]
  const rows = [...results].map(([title, all]) => row(title, all))
  const chapter = chapterOf({ heads, rows, rounds, load, note: optionOf('--note') })
  console.log(chapter)
  if (process.argv.includes('--print')) return
  recordChapter(join(root, 'docs/bench/mstp.md'), HEAD, chapter)
}

await main()
