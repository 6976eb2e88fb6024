/** Boards in the role serial with devices on ptys, and clients of their ports. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { type Device, plugIn } from '#kit/test/line/named-pty.ts'
import type { Answer, Owner } from '#kit/test/running-daemon.ts'
import { MOST_PORTS } from '../../../core/settings/setting.ts'
import { type RunningBoard, startBoard } from '../../../test/running-board.ts'

/** Ports of a board that belong to one test; it calls them 1, 2 and so on. */
export interface SerialRig extends RunningBoard {
  devices: Device[]
  /** TCP port of each device. */
  ports: number[]
  /** The number by which the board calls a port. */
  numberOf(port: number): number
  /** Changes settings of port 1, or of another. @returns the status and the answer */
  set(fields: Record<string, string | number>, port?: number): Promise<Answer>
  /** Port 1 as the API shows it, or another. */
  port(number?: number): Promise<Answer['body']>
}

type Modes = readonly ('raw' | 'rfc2217')[]

interface RigOptions {
  sets?: string[]
  within?: string[]
}

/** A board for one test. @param modes of ports 1, 2 and so on, all switched on */
export async function serialRig(t: Owner, modes: Modes, options: RigOptions = {}): Promise<SerialRig> {
  const board = await serialBoard(t, modes.length, options)
  return await board.rig(modes)
}

/**
 * Rigs for the tests of a file, which share boards: each gets ports that nobody had before, and that are switched off
 * when it ends.
 */
export function serialRigs(t: Owner, options: RigOptions = {}): (test: Owner, modes: Modes) => Promise<SerialRig> {
  let board: SerialBoard | undefined
  return async (test, modes) => {
    if (board === undefined || board.left() < modes.length) board = await serialBoard(t, MOST_PORTS, options)
    const rig = await board.rig(modes)
    test.teardown(async () => {
      for (const index of modes.keys()) await rig.set({ enabled: 0 }, index + 1)
    })
    return rig
  }
}

type SerialBoard = Awaited<ReturnType<typeof serialBoard>>

/** @param count of its ports, all of them off */
async function serialBoard(t: Owner, count: number, options: RigOptions) {
  const devices = Array.from({ length: count }, (_, index) =>
    plugIn(`board-${index}-${Math.random().toString(36).slice(2, 8)}`),
  )
  const paths = JSON.stringify(devices.map(({ path }) => path))
  t.teardown(async () => {
    for (const device of devices) await device.unplug()
  })
  const sets = [`serial.devices=${paths}`, 'mdns.enabled=false', 'serial.retry_first_ms=50', 'serial.retry_max_ms=100']
  const board = await startBoard(t, { ...options, sets: [...sets, ...(options.sets ?? [])] })
  let taken = 0
  return {
    left: () => count - taken,
    async rig(modes: Modes): Promise<SerialRig> {
      const first = taken
      taken += modes.length
      const rig: SerialRig = {
        ...board,
        devices: devices.slice(first, taken),
        ports: [],
        numberOf: (port) => first + port,
        set: (fields, port = 1) => board.post('/api/serial', texts({ ...fields, port: first + port })),
        port: async (port = 1) => (await board.get('/api/serial')).body.ports[first + port - 1],
      }
      for (const [index, mode] of modes.entries()) {
        const tcp_port = await freePort()
        rig.ports.push(tcp_port)
        await rig.set({ enabled: 1, mode, tcp_port, baud: 115_200 }, index + 1)
      }
      return rig
    },
  }
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
