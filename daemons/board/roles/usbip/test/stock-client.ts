/**
 * Debian's usbip as a client of our server, with both sides recorded byte by byte.
 *
 *     node daemons/board/roles/usbip/test/stock-client.ts     rewrites recorded/stock-client.json
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, connect as dial, type Socket } from 'node:net'
import { join } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { createShareOf, parseAllowList } from '#kit/net/address.ts'
import { isMain } from '../../../../../scripts/is-main.ts'
import { UsbSharing } from '../core/usb-sharing.ts'
import { createOpServerOpener } from '../io/op-server.ts'
import { createUsbSysfs } from '../io/usb-sysfs.ts'
import { FakeUsb } from './fake-usb.ts'

/** One connection: request and reply in hex. */
export interface Exchange {
  what: string
  request: string
  reply: string
}

export const RECORDED = join(import.meta.dirname, 'recorded/stock-client.json')

/** Devices plugged in during the recording: a serial adapter, and a disk that is not shared. */
function plugIn(usb: FakeUsb): void {
  usb.plug({ busId: '1-1', serial: 'A5069RR4' })
  usb.plug({ busId: '1-2', vendorId: '46f4', productId: '0001', interfaces: [['08', '06', '50']], speed: '480' })
}

/** Runs the registered functions at the end, in reverse. */
export interface Teardown {
  teardown(run: () => unknown): void
}

/** Our server over a tree like sysfs, sharing 1-1. @returns its port */
export async function startServer(t: Teardown): Promise<number> {
  const usb = new FakeUsb(t)
  plugIn(usb)
  const own = (promise: Promise<unknown>) => void promise
  const parseAllow = (text: string) => parseAllowList(text, 64)
  const limits = { host: '127.0.0.1', port: 0, connections: 8, connectionsPerHost: 8, timeoutMs: 5000 }
  const keepAlive = { idleS: 5, intervalS: 2, count: 3, userTimeoutMs: 11_000 }
  const clock = systemClock
  const sharing = new UsbSharing(
    {
      ...{ clock, log: silentLog, parseAllow, own, onChange: () => {} },
      bus: {
        look: createUsbSysfs({ sysfs: usb.sysfs, mountsFile: '/proc/self/mountinfo', log: silentLog }).look,
        watch: () => () => {},
      },
      helper: {
        async ask(verb, [busId = ''] = []) {
          if (verb === 'usbip-bind') usb.bind(busId)
          if (verb === 'usbip-unbind') usb.unbind(busId)
          if (verb === 'usbip-attach') usb.setStatus(busId, '2')
          return ''
        },
      },
      memory: { load: async () => [], save: async () => {} },
      openServer: createOpServerOpener({
        ...{ clock, log: silentLog, own, shareOf: createShareOf([]) },
        limits: { ...limits, keepAlive },
      }),
      times: { lookMs: 3000, retryMs: 5000, holdMs: 60_000 },
    },
    { enabled: true, allow: '', device: '1-1' },
  )
  await sharing.start()
  t.teardown(() => sharing.stop())
  while (sharing.shares[0]?.state !== 'exported') await new Promise((resolve) => setTimeout(resolve, 10))
  return sharing.openPort ?? 0
}

/** Records everything between a client and our `port`. @returns the port for the client */
export async function startTap(t: Teardown, port: number, exchanges: Exchange[]): Promise<number> {
  const server = createServer((client) => {
    const exchange: Exchange = { what: '', request: '', reply: '' }
    exchanges.push(exchange)
    const ours = dial({ port, host: '127.0.0.1', allowHalfOpen: true })
    copy(client, ours, (bytes) => {
      exchange.request += bytes.toString('hex')
    })
    copy(ours, client, (bytes) => {
      exchange.reply += bytes.toString('hex')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as { port: number }).port
}

function copy(from: Socket, to: Socket, note: (bytes: Buffer) => void): void {
  from.on('data', (bytes) => {
    note(bytes)
    to.write(bytes)
  })
  from.on('end', () => to.end())
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
}

/** Runs the client: it lists, imports a shared device, and tries one that is not shared. */
export async function talkToStockClient(t: Teardown, exchanges: Exchange[]): Promise<string[]> {
  const port = String(await startTap(t, await startServer(t), exchanges))
  const said: string[] = []
  for (const [what, words] of [
    ['list', ['list', '-r', '127.0.0.1']],
    ['attach of a device that is not shared', ['attach', '-r', '127.0.0.1', '-b', '1-2']],
    ['attach', ['attach', '-r', '127.0.0.1', '-b', '1-1']],
    ['attach of a device that a host has', ['attach', '-r', '127.0.0.1', '-b', '1-1']],
  ] as const) {
    const before = exchanges.length
    said.push(await run('usbip', ['--tcp-port', port, ...words]))
    for (const exchange of exchanges.slice(before)) exchange.what = what
  }
  return said
}

function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        text += part
      })
    child.on('close', () => resolve(text))
  })
}

if (isMain(import.meta)) {
  const ends: (() => unknown)[] = []
  const exchanges: Exchange[] = []
  const said = await talkToStockClient({ teardown: (end) => void ends.push(end) }, exchanges)
  console.log(said.join('\n'))
  for (const end of ends.reverse()) await end()
  mkdirSync(join(import.meta.dirname, 'recorded'), { recursive: true })
  writeFileSync(RECORDED, `${JSON.stringify(exchanges, null, 2)}\n`)
}
