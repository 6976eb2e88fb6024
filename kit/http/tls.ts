/** HTTPS and plain HTTP on one port: who begins a TLS handshake gets one, plain requests are sent to the same port. */
import { constants } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import type { Clock } from '../clock.ts'
import type { TlsConfig } from '../config/tables.ts'
import type { Log } from '../log.ts'
import type { ShareOf } from '../net/address.ts'
import type { ServerIdentity } from '../net/own-authority.ts'
import { createPlaces, type Holder } from '../net/places.ts'
import { createLogGate } from '../pure/pace.ts'
import type { Metrics } from './metrics.ts'
import type { TextAnswer } from './surface.ts'

interface TlsNeeds {
  config: Pick<TlsConfig, 'tls_handshakes' | 'tls_handshakes_per_address' | 'tls_handshake_ms'>
  /** Asked for each handshake: what was renewed holds from the next on, and connections that are there go on. */
  identity(): ServerIdentity
  shareOf: ShareOf
  clock: Clock
  log: Log
  metrics: Metrics
  /** Runs it when it is the turn of that address: a handshake takes as much of the processor as several requests. */
  takeTurn(remoteAddress: string, run: () => void): void
}

/** TLS in front of the servers of one daemon: `localhost` is two. */
export interface TlsFront {
  /**
   * Call right after the server was made, before others listen to its events. Afterwards `connection` means a bare
   * one, which may become TLS; then the server emits `secureConnection` with the encrypted stream and the bare one.
   */
  guard(server: Server): void
  /** Ends handshakes under way, and logs what was counted but not logged yet. */
  close(): void
}

/** A client needs new keys after some million records: who wants so many in so short a time wants nothing else. */
const MOST_KEY_UPDATES = 16
const KEY_UPDATES_MS = 60_000

/** How the log of keys names new ones of the client. @source OpenSSL 3.5, ssl/tls13_enc.c: tls13_update_key */
const NEW_CLIENT_KEY = 'CLIENT_TRAFFIC_SECRET_N'

/**
 * Ends a connection that has its keys changed again and again (RFC 8446, 4.6.3): each time takes 27 bytes and 10 us, and 128
 * connections of one address could keep this process from all others for 20 s at a time. OpenSSL has no bound, and tells of
 * it by its log of keys alone.
 */
function boundKeyUpdates(stream: TLSSocket, clock: Clock, onFlood: () => void): void {
  let sinceMs = clock.monotonicMs()
  let count = 0
  function onKey(line: Buffer): void {
    if (!line.toString('latin1', 0, NEW_CLIENT_KEY.length).startsWith(NEW_CLIENT_KEY)) return
    const nowMs = clock.monotonicMs()
    if (nowMs - sinceMs >= KEY_UPDATES_MS) [sinceMs, count] = [nowMs, 0]
    count++
    if (count <= MOST_KEY_UPDATES) return
    stream.off('keylog', onKey)
    // OpenSSL is in the middle of it: nothing more is read, and the stream goes when it is through.
    const { _handle: handle } = stream as TLSSocket & { _handle?: { readStop(): void } | null }
    handle?.readStop()
    setImmediate(() => {
      onFlood()
      stream.destroy()
    })
  }
  stream.on('keylog', onKey)
}

/** The first byte of a TLS connection; no method of HTTP begins with it. @source RFC 8446, 5.1: handshake(22) */
const HANDSHAKE = 0x16

/** At most one log line about handshakes that came to nothing in this time. */
const LINE_MS = 60_000

export function createTlsFront({ identity, takeTurn, ...needs }: TlsNeeds): TlsFront {
  const handshakes = createHandshakes(needs)
  const contextOf = contextCache()

  function shakeHands(wire: Socket, settle: () => void, serve: (stream: Socket) => void): void {
    if (wire.destroyed) return
    const secureContext = contextOf(identity())
    const stream = new TLSSocket(wire, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] })
    const onError = (error: NodeJS.ErrnoException) => handshakes.failed('failed', wire, reasonOf(error))
    stream.once('error', onError)
    boundKeyUpdates(stream, needs.clock, () => handshakes.failed('floods', wire, 'new keys again and again'))
    stream.once('secure', () => {
      stream.off('error', onError)
      handshakes.done()
      settle()
      serve(stream)
    })
  }

  /** Reads the first byte, which tells who speaks TLS, and hands it on unread. */
  function receive(wire: Socket, serve: (stream: Socket) => void): void {
    const settle = handshakes.begin(wire)
    wire.once('close', settle)
    // A client that left; `close` follows.
    wire.on('error', () => {})
    wire.once('data', (first: Buffer) => {
      wire.pause()
      wire.unshift(first)
      if (first[0] !== HANDSHAKE) {
        settle()
        serve(wire)
        wire.resume()
      } else takeTurn(wire.remoteAddress ?? '', () => shakeHands(wire, settle, serve))
    })
  }

  return {
    guard(server) {
      const [own] = server.listeners('connection') as ((this: Server, stream: Socket) => void)[]
      if (!own) throw new TypeError('the server has no listener of its own for connections')
      server.removeListener('connection', own)
      server.on('connection', (wire: Socket) => {
        if (wire.destroyed) return
        receive(wire, (stream) => {
          if (stream !== wire) server.emit('secureConnection', stream, wire)
          own.call(server, stream)
        })
      })
    },
    close: () => handshakes.close(),
  }
}

/** Handshakes under way, from the connection on: their bounds, and what came of them. */
function createHandshakes({ config, shareOf, clock, log, metrics }: Omit<TlsNeeds, 'identity' | 'takeTurn'>) {
  const { tls_handshakes: most, tls_handshakes_per_address: mostPerAddress, tls_handshake_ms: timeoutMs } = config
  const places = createPlaces({ most, mostPerAddress, shareOf })
  const open = new Set<Socket>()
  const counts = { done: 0, late: 0, crowded: 0, failed: 0, floods: 0 }
  const gate = createLogGate(clock, LINE_MS, (times, facts) => log.notice('tls_handshakes_failed', { times, ...facts }))
  metrics.counts(
    { name: 'http_tls_handshakes_total', help: 'TLS handshakes by what came of them', labels: ['end'] },
    () => Object.entries(counts).map(([end, value]) => ({ labels: { end }, value })),
  )

  function failed(why: 'late' | 'crowded' | 'failed' | 'floods', wire: Socket, reason: string): void {
    counts[why]++
    gate.note({ last: reason, for: wire.remoteAddress })
  }

  return {
    failed,
    done: () => void counts.done++,
    /** @returns call it when the handshake has been made, or there will be none */
    begin(wire: Socket): () => void {
      const sinceMs = clock.monotonicMs()
      const place: Holder = {
        use: () => ({ use: 'opening', sinceMs }),
        giveWay() {
          failed('crowded', wire, 'made room for another')
          wire.destroy()
        },
      }
      if (!places.take(wire.remoteAddress ?? '', place)) place.giveWay()
      open.add(wire)
      const timer = clock.after(timeoutMs, () => {
        failed('late', wire, 'not done in time')
        wire.destroy()
      })
      return function settle() {
        open.delete(wire)
        timer.cancel()
        places.leave(place)
      }
    },
    close() {
      for (const wire of open) wire.destroy()
      gate.close()
    },
  }
}

/**
 * Renegotiating on an open connection would bypass the limits on handshakes. Node's own limit holds only for sockets that
 * its `tls.Server` has made.
 */
const { SSL_OP_NO_RENEGOTIATION: NO_RENEGOTIATION } = constants

/** Making a context takes longer than a handshake, so it is made once for each identity. */
function contextCache(): (identity: ServerIdentity) => SecureContext {
  let made: { identity: ServerIdentity; context: SecureContext } | undefined
  return (identity) => {
    if (made?.identity !== identity) {
      const { key, certificate: cert } = identity
      // No client shows a certificate, so the public authorities, 5 MB of memory, are not loaded.
      const context = createSecureContext({ key, cert, ca: [], minVersion: 'TLSv1.2', secureOptions: NO_RENEGOTIATION })
      made = { identity, context }
    }
    return made.context
  }
}

/** Such as `tlsv1 alert unknown ca`: the client does not trust the root. */
function reasonOf(error: NodeJS.ErrnoException & { reason?: string }): string {
  return error.reason ?? error.code ?? 'unknown'
}

// Plain requests on the same port are redirected.

/** Whether a request came over TLS. Without `instanceof`, which would load Node's TLS in daemons that do not use it. */
export function isEncrypted({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
  return (socket as Partial<TLSSocket>).encrypted === true
}

interface RedirectNeeds {
  log: Log
  clock: Clock
  /** Those of every answer. */
  headers(): Readonly<Record<string, string>>
  /** @throws Fault if the request is malformed, or names a host that this server does not go by */
  checkHead(request: IncomingMessage): void
  /** Path and query, as sent. */
  pathOf(request: IncomingMessage): string
  refuse(error: unknown, request: IncomingMessage): TextAnswer
}

/**
 * Answers 308 to every method: it keeps method and body, and `no-store` keeps browsers from remembering it, since TLS
 * may be switched off again. docs/decisions/http-server.md
 */
export function createRedirect({ log, clock, headers, checkHead, pathOf, refuse }: RedirectNeeds) {
  const gate = createLogGate(clock, LINE_MS, (times, facts) =>
    log.warning('credentials_unencrypted', { times, ...facts }),
  )
  function answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume()
    const path = pathOf(request)
    try {
      checkHead(request)
    } catch (fault) {
      const { status, text, headers: more } = refuse(fault, request)
      response.writeHead(status, { ...headers(), 'content-type': 'application/json; charset=utf-8', ...more }).end(text)
      return
    }
    if (request.headers.authorization !== undefined)
      gate.note({ from: request.socket.remoteAddress, remedy: 'give that client the address with https://' })
    const location = `https://${securePlace(request)}${path}`
    const text = `This port speaks HTTPS. Ask ${location}\n`
    response.writeHead(308, { ...headers(), location, 'content-type': 'text/plain; charset=utf-8' }).end(text)
  }

  return { answer, close: () => gate.close() }
}

/** The port without a number is 80, whoever maps it: the same way in leads to the same port, which speaks both. */
function securePlace({ headers: { host = '' }, socket }: IncomingMessage): string {
  const named = host === '' ? hostOfAddress(socket) : host
  return /:\d+$/.test(named) ? named : `${named.replace(/:$/, '')}:80`
}

function hostOfAddress({ localAddress = '', localPort }: Socket): string {
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}
