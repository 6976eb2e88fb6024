/** A board in the role serial with devices on ptys, and clients of its ports. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { type Device, plugIn } from '#kit/test/line/named-pty.ts'
import type { Answer } from '#kit/test/running-daemon.ts'
import { type RunningBoard, startBoard } from '../../../test/running-board.ts'

export interface SerialRig extends RunningBoard {
  devices: Device[]
  /** TCP port of each device. */
  ports: number[]
  /** Changes settings of port 1, or of another. @returns the status and the answer */
  set(fields: Record<string, string | number>, port?: number): Promise<Answer>
  /** Port 1 as the API shows it, or another. */
  port(number?: number): Promise<Answer['body']>
}

/** @param modes of ports 1, 2 and so on, all switched on */
export async function serialRig(
  t: Test,
  modes: readonly ('raw' | 'rfc2217')[],
  options: { sets?: string[]; within?: string[] } = {},
): Promise<SerialRig> {
  const devices = modes.map((_, index) => plugIn(`board-${index}-${Math.random().toString(36).slice(2, 8)}`))
  const paths = JSON.stringify(devices.map(({ path }) => path))
  t.teardown(async () => {
    for (const device of devices) await device.unplug()
  })
  const sets = [`serial.devices=${paths}`, 'mdns.enabled=false', 'serial.retry_first_ms=50', 'serial.retry_max_ms=100']
  const board = await startBoard(t, { ...options, sets: [...sets, ...(options.sets ?? [])] })
  const ports: number[] = []
  const rig: SerialRig = {
    ...board,
    devices,
    ports,
    set: (fields, port = 1) => board.post('/api/serial', texts({ port, ...fields })),
    port: async (number = 1) => (await board.get('/api/serial')).body.ports[number - 1],
  }
  for (const [index, mode] of modes.entries()) {
    const tcp_port = await freePort()
    ports.push(tcp_port)
    await rig.set({ enabled: 1, mode, tcp_port, baud: 115_200 }, index + 1)
  }
  return rig
}

function texts(fields: Record<string, string | number>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))
}

/** What a client has received, and whether it has ended. */
export interface Heard {
  socket: Socket
  bytes(): Buffer
  isClosed: boolean
}

/** Connects and receives; ended with the test. */
export async function client(t: Test, port: number, host = '127.0.0.1', localAddress?: string): Promise<Heard> {
  const socket = connect({ port, host, ...(localAddress && { localAddress }), noDelay: true })
  const pieces: Buffer[] = []
  const heard: Heard = { socket, bytes: () => Buffer.concat(pieces), isClosed: false }
  socket.on('data', (bytes) => pieces.push(bytes))
  socket.on('error', () => undefined)
  socket.on('close', () => {
    heard.isClosed = true
  })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect').catch(() => once(socket, 'close'))
  return heard
}
