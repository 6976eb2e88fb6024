/** Raw TCP to a line: accepts clients, keeps each within its backlog, cuts off one that stays behind. */
import { createServer, type Server, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import type { RawSocketLine, RawSocketOpener, RawSocketServer } from '../core/ports.ts'

/** Bounds of every raw TCP server; keys of the config table `raw_tcp`. */
export interface RawSocketLimits {
  /** Address to listen on. */
  host: string
  /** Bytes held for one client before the line is paused, and of one client before it is. */
  backlogBytes: number
  /** How long one client may hold up the line before it is cut off. */
  slowClientMs: number
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
  const sockets = new Set<Socket>()
  const behind = new Map<Socket, Timer>()
  let refused = 0
  let cutOff = 0

  function caughtUp(socket: Socket): void {
    behind.get(socket)?.cancel()
    if (behind.delete(socket) && behind.size === 0) line.resume()
  }

  function tooSlow(socket: Socket): void {
    cutOff++
    deps.log.warning('raw tcp client cut off', {
      port: settings.port,
      client: socket.remoteAddress,
      waitedMs: deps.limits.slowClientMs,
      heldBytes: socket.writableLength,
    })
    socket.destroy()
  }

  function fallsBehind(socket: Socket): void {
    if (behind.has(socket)) return
    if (behind.size === 0) line.pause()
    behind.set(
      socket,
      deps.clock.after(deps.limits.slowClientMs, () => tooSlow(socket)),
    )
  }

  function leave(socket: Socket): void {
    sockets.delete(socket)
    caughtUp(socket)
  }

  return {
    accept(socket) {
      if (sockets.size >= settings.maxClients) {
        refused++
        socket.destroy()
        return
      }
      sockets.add(socket)
      socket.on('close', () => leave(socket))
      socket.on('error', () => socket.destroy())
      socket.on('drain', () => caughtUp(socket))
      socket.on('data', forwarder(socket, line, deps.limits.backlogBytes))
      socket.resume()
    },
    broadcast(bytes) {
      for (const socket of sockets) {
        socket.write(bytes)
        if (socket.writableLength > deps.limits.backlogBytes) fallsBehind(socket)
      }
    },
    counters: () => ({ tcpClients: sockets.size, tcpRefused: refused, tcpCutOff: cutOff }),
    closeAll() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/**
 * What a client sends goes to the line in order. The client is read no further while the line has more than the backlog
 * of its bytes still to take: pausing for each read would cost more than the read.
 */
function forwarder(socket: Socket, line: RawSocketLine, backlogBytes: number): (bytes: Uint8Array) => void {
  let heldBytes = 0
  const letGo = () => void socket.destroy()
  return (bytes) => {
    heldBytes += bytes.length
    if (heldBytes > backlogBytes) socket.pause()
    const taken = () => {
      heldBytes -= bytes.length
      if (socket.isPaused() && heldBytes <= backlogBytes) socket.resume()
    }
    try {
      line.onBytes(bytes).then(taken, letGo)
    } catch {
      letGo() // the line closed this very moment; its clients are let go with it
    }
  }
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays for good: a connection that cannot be accepted (no memory, no descriptor) comes here too, and is only that one's loss.
    server.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        new Fault(
          'tcp_port_taken',
          `TCP port ${port} cannot be opened for this line (${error.code ?? error.message}).`,
          {
            cause: error,
          },
        ),
      ),
    )
    server.listen(port, host, resolve)
  })
}

async function closed(server: Server, closeAll: () => void): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    closeAll()
  })
}
