/** Raw TCP to a line: accepts clients, keeps each within its backlog, cuts off one that stays behind. */
import { createServer, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { RawClient } from './raw-client.ts'
import type { RawSocketLine, RawSocketOpener, RawSocketServer } from './raw-line.ts'
import { closed, listening } from './tcp-port.ts'

/** Bounds of every raw TCP server; keys of the config table `raw_tcp`. */
export interface RawSocketLimits {
  /** Address to listen on. */
  host: string
  /** Bytes held for one client before the line is paused, and of one client before it is. */
  backlogBytes: number
  /** How long one client may hold up the line before it is cut off. */
  slowClientMs: number
  /** How long bytes that passed between line and client may wait to be told. */
  tellMs: number
}

/** @returns an opener whose servers share the limits */
export function createRawSocketOpener(deps: { limits: RawSocketLimits; clock: Clock; log: Log }): RawSocketOpener {
  return async (settings, line) => {
    const server = createServer({ noDelay: true, keepAlive: true, pauseOnConnect: true })
    const clients = createClients(deps, settings, line)
    server.on('connection', clients.accept)
    await listening(server, deps.limits.host, settings.port)
    return {
      broadcast: clients.broadcast,
      counters: clients.counters,
      close: () => closed(server, clients.closeAll),
    }
  }
}

function createClients(
  deps: { limits: RawSocketLimits; clock: Clock; log: Log },
  settings: { port: number; maxClients: number },
  line: RawSocketLine,
): Pick<RawSocketServer, 'broadcast' | 'counters'> & { accept(socket: Socket): void; closeAll(): void } {
  const { limits, clock, log } = deps
  const clients = new Set<RawClient>()
  const behind = new Map<RawClient, Timer>()
  let refused = 0
  let cutOff = 0

  function caughtUp(client: RawClient): void {
    behind.get(client)?.cancel()
    if (behind.delete(client) && behind.size === 0) line.resume()
  }

  function tooSlow(client: RawClient): void {
    cutOff++
    log.warning('raw tcp client cut off', {
      port: settings.port,
      client: client.socket.remoteAddress,
      waitedMs: limits.slowClientMs,
      heldBytes: client.socket.writableLength,
    })
    client.destroy()
  }

  function fallsBehind(client: RawClient): void {
    if (behind.has(client)) return
    if (behind.size === 0) line.pause()
    behind.set(
      client,
      clock.after(limits.slowClientMs, () => tooSlow(client)),
    )
  }

  function join(socket: Socket): void {
    const { backlogBytes, tellMs } = limits
    const parts = { socket, line, backlogBytes, tellMs, onBehind: fallsBehind, onCaughtUp: caughtUp }
    const client = new RawClient(parts, descriptorOf(socket))
    clients.add(client)
    socket.on('error', () => client.destroy())
    socket.on('close', () => {
      client.destroy()
      clients.delete(client)
      caughtUp(client)
    })
  }

  return {
    accept(socket) {
      if (clients.size >= settings.maxClients) {
        refused++
        socket.destroy()
        return
      }
      try {
        join(socket)
      } catch (error) {
        refused++
        log.warning('raw tcp client not taken', { port: settings.port, why: String(error) })
        socket.destroy()
      }
    },
    broadcast(bytes) {
      for (const client of clients) client.send(bytes)
    },
    counters: () => ({ tcpClients: clients.size, tcpRefused: refused, tcpCutOff: cutOff }),
    closeAll() {
      for (const client of clients) client.destroy()
    },
  }
}

/** Node tells it of a socket that is open, though not in its types. */
function descriptorOf(socket: Socket): number {
  return (socket as Socket & { _handle?: { fd?: number } })._handle?.fd ?? -1
}
