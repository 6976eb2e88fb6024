/** Fastify with our bounds and without its defaults that do not suit us. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { HttpConfig } from '#kit/config/common.ts'
import { Fault } from '#kit/fault.ts'
import type { Admission } from './admission.ts'
import type { BodyTime } from './body-time.ts'
import type { Dialect } from './dialect.ts'
import { gatherBody } from './gather-body.ts'
import { originForm } from './plain-head.ts'
import type { ServeSurface } from './surface.ts'
import type { Turns } from './turns.ts'
import type { Unsent } from './unsent.ts'

/** A device path of 4096 characters, each percent-encoded, still fits a path parameter. The head's size bounds it before. */
const LONGEST_PARAMETER = 4096

/**
 * A Fastify that reads bodies strictly, bounds what a client may send and how long it may take, and leaves logging to us.
 * @param by `frameworkErrors` answers what Fastify refuses before any hook runs, such as a broken percent-encoding;
 * `clientErrors` what Node refuses before there is a request; `socketPaths` are the only ones that upgrade
 */
export function createFastify(
  config: HttpConfig,
  by: {
    admission: Pick<Admission, 'guard'>
    unsent: Pick<Unsent, 'guard'>
    turns: Turns
    bodies: BodyTime
    dialect: Dialect
    socketPaths: ReadonlySet<string>
    /** Asked of each request before Fastify sees it. */
    surface?: ServeSurface
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply
    clientErrors: (error: NodeJS.ErrnoException, connection: Socket) => void
  },
): FastifyInstance {
  const headersTimeout = config.headers_timeout_ms
  // Fastify reads 0 as "not given", Node as "for ever".
  const keepAliveTimeout = Math.max(1, config.keep_alive_ms)
  const http = {
    headersTimeout,
    maxHeaderSize: config.header_bytes,
    // Java's client asks every plain server for HTTP/2 (Upgrade: h2c). A server is free to answer as if it had not.
    shouldUpgradeCallback: ({ url = '', headers }: IncomingMessage) =>
      headers.upgrade?.toLowerCase() === 'websocket' && by.socketPaths.has(url.split('?', 1)[0] ?? ''),
    // Node looks for late clients only this often; its 30 s would make the timeouts above mean little.
    connectionsCheckingInterval: Math.max(20, Math.min(1000, headersTimeout / 4)),
  }
  const app = fastify({
    logger: false,
    bodyLimit: config.body_bytes,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    rewriteUrl(request) {
      by.bodies.watch(request)
      return originForm(request)
    },
    // Called once more for each further address that `localhost` has.
    serverFactory: (rest: RequestListener) => {
      const server = createServer(http, by.turns.inTurn(by.surface ? inFrontOf(rest, by.surface) : rest))
      server.keepAliveTimeout = keepAliveTimeout
      // Counted by ourselves: Node knows one time for all.
      server.requestTimeout = 0
      by.admission.guard(server)
      by.unsent.guard(server)
      return server
    },
    frameworkErrors: by.frameworkErrors,
    clientErrorHandler: by.clientErrors,
  }) as unknown as FastifyInstance
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    by.dialect.mediaType,
    async ({ headers, routeOptions }: FastifyRequest, payload: IncomingMessage) => {
      const bytes = await gatherBody(payload, routeOptions.bodyLimit ?? config.body_bytes)
      if (bytes === 'too_large') throw new Fault('body_too_large', 'the body is larger than this server takes')
      // Nobody is there to read the reply.
      if (bytes === 'cut') throw new Fault('bad_http', 'the connection ended before the body did')
      return by.dialect.readBody(bytes, headers['content-type'] ?? '')
    },
  )
  return app
}

function inFrontOf(rest: RequestListener, surface: ServeSurface): RequestListener {
  return (request, response) => {
    if (!surface(request, response)) rest(request, response)
  }
}
