/** Webhooks in: calls of other systems that start the macro of a trigger, proved by a signature over their body. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { readJson } from '#kit/http/dialect.ts'
import { object, Reply, type Route, type Upload, uploadRoute, wholeUpload, yesNo } from '#kit/http/route.ts'
import { networkOf } from '#kit/net/address.ts'
import { isSignedBy } from '#kit/net/signature.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Origin } from '../core/access/accounts.ts'
import type { AuditBook, AuditReason, AuditRecord } from '../core/audit.ts'
import { isObject, type Json } from '../core/json.ts'
import type { Hooks } from '../core/surfaces.ts'
import { refusal } from './answers.ts'

interface HookParts {
  hooks: Hooks
  audit: Pick<AuditBook, 'add'>
  clock: Clock
  originOf(ask: { remoteAddress: string; headers: IncomingHttpHeaders }): Origin
  limits: {
    /** The longest body. */
    hookBytes: number
    /** Calls of one network within a minute. */
    hookCalls: number
    /** Networks that are counted. */
    hookNetworks: number
  }
}

const MINUTE_MS = 60_000
/** Longest wait for the next piece of a body, and for all of it. */
const BODY_MS = { idleMs: 5000, wholeMs: 10_000 }

const REASONS: ReadonlyMap<string, AuditReason> = new Map<string, AuditReason>([
  ['unauthorized', 'invalid_credential'],
  ['slow_down', 'busy'],
  ['bad_json', 'malformed_body'],
  ['body_too_large', 'malformed_body'],
  ['body_cut', 'malformed_body'],
  ['request_timeout', 'malformed_body'],
])
const STATUS: ReadonlyMap<string, number> = new Map([
  ['unauthorized', 401],
  ['slow_down', 429],
  ['bad_json', 400],
  ['body_too_large', 413],
  ['body_cut', 400],
  ['request_timeout', 408],
])

export function hookRoutes(parts: HookParts): Route[] {
  const { audit, clock, hooks, limits, originOf } = parts
  const count = createCallCounter(clock, limits)
  // What a call for an unknown webhook is compared with: it takes as long as any other, and is never right.
  const nobody = randomBytes(32).toString('hex')

  async function called(named: string, body: Upload, { headers, clientIp }: Called): Promise<number> {
    count(networkOf(clientIp))
    const bytes = await wholeUpload(body)
    const hook = hooks.hook(named)
    const signature = headers['x-svc-signature']
    const isRight = isSignedBy(typeof signature === 'string' ? signature : '', bytes, hook?.secret ?? nobody)
    if (hook === undefined || !isRight)
      throw new Fault(
        'unauthorized',
        'there is no such webhook, or X-Svc-Signature does not fit the body and its secret',
      )
    const refused = hooks.called(hook.id, fieldsOf(bytes))
    if (refused !== undefined) throw new Fault('slow_down', refused)
    return hook.id
  }

  return [
    uploadRoute({
      method: 'POST',
      path: '/hooks/:trigger',
      who: 'anyone',
      upload: { maxBytes: limits.hookBytes, ...BODY_MS },
      reads: {
        body: Type.Record(Type.String(), Type.Unknown(), { description: 'fields for the args of the trigger' }),
      },
      reply: object({ accepted: yesNo }),
      refusal,
      status: 202,
      summary: 'Starts the macro of a webhook trigger, by its name or id; X-Svc-Signature signs the body',
      onRefused: ({ status, code = '', ...head }) =>
        record('/hooks', { status, clientIp: originOf(head).clientIp, reason: REASONS.get(code) ?? null }),
      async handle({ body, headers, params, remoteAddress }) {
        const { trigger = '' } = params as { trigger?: string }
        const { clientIp } = originOf({ remoteAddress, headers })
        const path = `/hooks/${trigger}`
        try {
          const id = await called(trigger, body, { headers, clientIp })
          record(path, { status: 202, clientIp, reason: null, target: `trigger ${id}` })
          return new Reply(202, { accepted: true })
        } catch (thrown) {
          const code = thrown instanceof Fault ? thrown.code : ''
          record(path, { status: STATUS.get(code) ?? 500, clientIp, reason: REASONS.get(code) ?? null })
          throw thrown
        }
      },
    }),
  ]

  function record(
    path: string,
    facts: Pick<AuditRecord, 'status' | 'clientIp' | 'reason'> & { target?: string },
  ): void {
    void audit.add({
      ...{ at: clock.epochMs(), requestType: 'hook', method: 'POST', path, elapsedMs: 0, userId: null, username: null },
      ...{ granted: facts.status < 400, target: null, runId: null, ...facts },
    })
  }
}

interface Called {
  headers: IncomingHttpHeaders
  clientIp: string
}

/** No body at all is one without fields. @throws Fault `bad_json` */
function fieldsOf(bytes: Buffer): Readonly<Record<string, Json>> {
  const value = bytes.length === 0 ? {} : readJson(bytes)
  if (!isObject(value)) throw new Fault('bad_json', 'the body is not an object, expected one such as {"level": 40}')
  return value
}

/** Counts calls of each network, in minutes from its first one. @returns throws Fault `slow_down` beyond the limit */
function createCallCounter(clock: Clock, { hookCalls, hookNetworks }: HookParts['limits']): (network: string) => void {
  const counts = new Map<string, { sinceMs: number; calls: number }>()
  return (network) => {
    const nowMs = clock.monotonicMs()
    const known = counts.get(network)
    if (known !== undefined && nowMs - known.sinceMs < MINUTE_MS) {
      if (++known.calls > hookCalls)
        throw new Fault('slow_down', `more than ${hookCalls} calls of webhooks came from this network within a minute`)
      return
    }
    counts.delete(network)
    counts.set(network, { sinceMs: nowMs, calls: 1 })
    const [oldest] = counts.keys()
    if (counts.size > hookNetworks && oldest !== undefined) counts.delete(oldest)
  }
}
