/** TCP ports of the serial server: for both families, with peers that are found when they vanish. */
import { createServer, type Socket } from 'node:net'
import { Fault } from '#kit/fault.ts'
import { listening } from '#kit/line/tcp-port.ts'
import type { Log } from '#kit/log.ts'
import { networkOf, plainAddress } from '#kit/net/address.ts'
import { type Patience, setPatience } from '#native/usbip/index.ts'
import type { Arrival, Listener, ListenerOpener } from '../core/ports.ts'
import { descriptorOf } from './node-socket.ts'
import { TcpClient } from './tcp-client.ts'

export interface ListenerParts {
  /** Address to listen on; `::` takes IPv4 as well. */
  host: string
  /** When a peer that has vanished is given up. */
  patience: Patience
  log: Log
}

export function createListenerOpener(parts: ListenerParts): ListenerOpener {
  return async (tcpPort, onArrival) => {
    const accept = (socket: Socket) => onArrival(arrivalOf(socket, parts))
    const [first, ...others] = parts.host === '::' ? ['::', '0.0.0.0'] : [parts.host]
    try {
      return await open(first ?? '::', tcpPort, accept)
    } catch (fault) {
      const [second] = others
      // A machine without IPv6.
      if (second === undefined || !hasNoFamily(fault)) throw fault
      return await open(second, tcpPort, accept)
    }
  }
}

async function open(host: string, tcpPort: number, accept: (socket: Socket) => void): Promise<Listener> {
  const server = createServer({ noDelay: true, pauseOnConnect: true })
  server.on('connection', accept)
  await listening(server, host, tcpPort)
  // Node calls back when the last client has left, too; the port itself is free at once.
  return { close: async () => void server.close() }
}

function arrivalOf(socket: Socket, { patience, log }: ListenerParts): Arrival {
  const address = plainAddress(socket.remoteAddress)
  return {
    address,
    port: socket.remotePort ?? 0,
    network: networkOf(address),
    refuse() {
      socket.on('error', () => {}) // it may be gone already
      socket.resetAndDestroy()
    },
    take(handlers, limits) {
      try {
        setPatience(descriptorOf(socket), patience)
      } catch (error) {
        log.info('keep-alive not set', { client: address, why: String(error) }) // it is gone already
      }
      return new TcpClient(socket, handlers, limits)
    },
  }
}

function hasNoFamily(fault: unknown): boolean {
  const cause = fault instanceof Fault ? (fault.cause as NodeJS.ErrnoException | undefined) : undefined
  return cause?.code === 'EAFNOSUPPORT' || cause?.code === 'EADDRNOTAVAIL'
}
