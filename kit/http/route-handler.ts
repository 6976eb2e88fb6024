/** From a request to a route's `handle` and back: everything is checked first, then asked, then answered. */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { plainAddress } from '../net/address.ts'
import { type Checked, createCheck, fieldsFault } from './check.ts'
import type { Dialect } from './dialect.ts'
import { hangUpSignal } from './hang-up.ts'
import type { LongAnswers } from './long-answers.ts'
import { type Ask, mayComeEmpty, Reply, type Route } from './route.ts'
import type { FieldFault } from './sentences.ts'
import { endUpload, openUpload } from './upload.ts'
import type { Recognized } from './who-may.ts'

/** Serves one route. The caller was recognized before the body was read. */
export type Serve = (request: FastifyRequest, reply: FastifyReply, by: Recognized) => Promise<unknown>

/** What every route of a server is served with. */
export interface ServeNeeds {
  clock: Clock
  dialect: Dialect
  longAnswers: LongAnswers
  /** Told once everything was checked, before the route's own `handle`. */
  onHandled?: (request: FastifyRequest) => void
}

/** @returns what answers the route: parameters, query and body are checked together, so that all faults come at once */
export function createServe(route: Route, needs: ServeNeeds): Serve {
  const { dialect, longAnswers } = needs
  const checkParams = route.params && createCheck(route.params, 'text', ':')
  const checkQuery = createCheck(route.query ?? (route.method === 'GET' ? IGNORED : NOTHING), 'text', '?')
  const checkBody = createCheck(route.body ?? NOTHING, dialect.source)
  const nothingSent = () => dialect.nothing() ?? (mayComeEmpty(route) ? {} : undefined)
  const bodyOf = (request: FastifyRequest, take: (checked: Checked) => unknown) => {
    if (route.body === undefined && request.body === undefined) return undefined
    const asked = checkBody(request.body === undefined ? nothingSent() : request.body)
    const body = take(asked)
    if (asked.faults.length > 0) take({ value: body, faults: route.faultsBeside?.(body) ?? [] })
    return body
  }
  const serve: Serve = async (request, reply, by) => {
    const faults: FieldFault[] = []
    const take = (checked: Checked) => {
      faults.push(...checked.faults)
      return checked.value
    }
    const params = checkParams ? take(checkParams(request.params)) : request.params
    const query = take(checkQuery(queryOf(route, request)))
    const checked = route.upload ? undefined : bodyOf(request, take)
    if (faults.length > 0) throw fieldsFault(faults)
    const body = route.upload ? openUpload(request.raw, route.upload, needs.clock) : checked
    // Not spread: that would read the signal, and make one for every request.
    const ask = Object.assign(askOf(request, reply, by), { body, params, query })
    needs.onHandled?.(request)
    const result = await route.handle(ask as Ask<never, never, never>)
    if (by.caller && result instanceof Reply && result.body instanceof Readable) longAnswers.add(by.caller, reply.raw)
    return answer(reply, result)
  }
  if (!route.upload) return serve
  return (request, reply, by) => serve(request, reply, by).finally(() => endUpload(request.raw, needs.clock))
}

/** A route without a body or query schema takes an empty one: unknown names are refused here as everywhere. */
const NOTHING = { type: 'object', properties: {}, additionalProperties: false } as TSchema

/**
 * A read that takes nothing from its address ignores what stands there: caches are passed by with `?_=1`. A change is
 * refused instead, since whoever puts `?unitId=1` or `?dry_run=1` there means something by it.
 */
const IGNORED = { type: 'object' } as TSchema

function queryOf(route: Route, request: FastifyRequest): unknown {
  const query = { ...(request.query as Record<string, unknown>) }
  if (route.ticket) delete query.ticket
  return query
}

function askOf(request: FastifyRequest, reply: FastifyReply, { caller, token }: Recognized) {
  let gone: AbortSignal | undefined
  return {
    caller,
    token,
    remoteAddress: plainAddress(request.ip),
    headers: request.headers,
    // Few handlers wait for anything, so the signal is made when it is asked for.
    get signal() {
      gone ??= hangUpSignal(reply.raw)
      return gone
    },
  }
}

/** Sends a handler's result: a Reply as it says, nothing as 204, anything else as 200 with JSON. */
export function answer(reply: FastifyReply, result: unknown): FastifyReply {
  const { status, body, headers } =
    result instanceof Reply ? result : new Reply(result === undefined ? 204 : 200, result)
  reply.code(status).headers(headers)
  if (body === undefined) return reply.send()
  if (body instanceof Readable) reply.raw.once('close', () => body.destroy()) // the reply to a HEAD ends without it
  if (body instanceof Uint8Array || body instanceof Readable) return reply.send(body)
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
}
