/**
 * The cost of webhooks for the bus: Modbus reads on one line without targets, with eight that accept everything, and
 * with eight that refuse.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { freePort } from '#kit/test/free-port.ts'
import { end } from './bridges.ts'
import { startGateway } from './gateway-process.ts'
import { compileHarness, startHarness } from './line-harness.ts'

const TARGETS = 8
const READS = 300
const WARM_UP_READS = 500
/** On a busy machine a read may be late. */
const TRIES = 5

/** Reads per second of one caller on one line, one value per round. */
export interface WebhookLoad {
  without: number[]
  healthy: number[]
  refusing: number[]
  /** Events not sent to healthy targets, and all events for them. */
  dropped: number
  events: number
}

/**
 * Accepts everything with as little work as possible, since a real target runs on another machine. The body of an event
 * ends in a brace, and nothing else in a request does.
 */
const TARGET = `
const answer = Buffer.from('HTTP/1.1 204 No Content\\r\\n\\r\\n')
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', (bytes) => { if (bytes.at(-1) === 0x7d) socket.write(answer) })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

export async function measureWebhooks(root: string, rounds: number): Promise<WebhookLoad> {
  const harness = await startHarness(compileHarness(root, 'line-bench'))
  const gateway = await startGateway(root)
  const target = spawn(process.execPath, ['-e', TARGET], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [device = ''] = harness.devices
    const port = await gateway.addLine(device, { protocol: 'modbus-rtu', settings: {} })
    const read = async (count: number) => {
      for (let triesLeft = TRIES; ; triesLeft--) {
        const { error, rps = Number.NaN } = await harness.measure(`modbus ${port} 10 ${count}`)
        if (error === undefined) return rps
        if (triesLeft === 1) throw new Error(`webhook load: ${error}`)
        console.log(`webhook load: ${error}, asked again`)
      }
    }
    for await (const line of createInterface(target.stdout)) {
      const urls = { healthy: `http://127.0.0.1:${line}/`, refusing: `http://127.0.0.1:${await freePort()}/` }
      return await inTurn(rounds, read, {
        aimAt: (kind) => gateway.setWebhooks(device, kind === 'without' ? [] : new Array(TARGETS).fill(urls[kind])),
        counters: () => gateway.webhookCounters(device),
      })
    }
    throw new Error('the target did not listen')
  } finally {
    await gateway.stop()
    await end(target)
    harness.stop()
  }
}

type Kind = 'without' | 'healthy' | 'refusing'
const KINDS: readonly Kind[] = ['without', 'healthy', 'refusing']

async function inTurn(
  rounds: number,
  read: (count: number) => Promise<number>,
  by: { aimAt(kind: Kind): Promise<void>; counters(): Promise<Record<string, number>[]> },
): Promise<WebhookLoad> {
  const load: WebhookLoad = { without: [], healthy: [], refusing: [], dropped: 0, events: 0 }
  // Compilation on first use is kept out of the figures.
  for (const kind of KINDS) await by.aimAt(kind).then(() => read(WARM_UP_READS))
  for (let round = 0; round < rounds; round++)
    for (const kind of KINDS) {
      await by.aimAt(kind)
      load[kind].push(await read(READS))
      if (kind !== 'healthy') continue
      for (const { delivered = 0, failed = 0, dropped = 0, queued = 0 } of await by.counters()) {
        load.dropped += dropped + failed
        load.events += delivered + failed + dropped + queued
      }
    }
  return load
}
