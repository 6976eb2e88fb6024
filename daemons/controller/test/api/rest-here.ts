/** The REST surface on a real server, with rules that a test controls and an audit in a list. */
import { type OutgoingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Clock, systemClock } from '#kit/clock.ts'
import { type HttpConfig, httpTable } from '#kit/config/tables.ts'
import { withDefaults } from '#kit/http/check.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import { createHttpServer } from '#kit/http/server.ts'
import { type Log, silentLog } from '#kit/log.ts'
import { restSurface } from '../../api/rest-surface.ts'
import type { Session } from '../../core/access/accounts.ts'
import type { AuditBook, AuditRecord, Outcome } from '../../core/audit.ts'
import type { CallHeaders, Rules } from '../../core/surfaces.ts'

/** A token that `fakeRules` accepts. */
export const TOKEN = 'T'.repeat(32)

/** Calls of the rules, in order: the name, then the arguments. */
export type Asked = [string, ...unknown[]]

/** A session that may use these functions. */
export function sessionOf(functions: readonly string[] = ['command', 'macro', 'query']): Session {
  return {
    userId: 7,
    username: 'ada',
    roles: [],
    isElevated: false,
    surface: 'api',
    mustChangePassword: false,
    may: (what) => functions.includes(what),
    uis: [],
  }
}

/** A granted outcome. */
export function fine(json: unknown, more: Partial<Outcome> = {}): Outcome {
  return { status: 200, body: { json }, reason: null, ...more }
}

const isTunnel = (headers: CallHeaders) => headers['x-tunnel'] === '1'

/** Rules that record their calls, and accept only `TOKEN`. */
export function fakeRules(asked: Asked[], own: Partial<Rules> = {}, session = sessionOf()): Rules {
  const note = (name: string, ...given: unknown[]) => {
    asked.push([name, ...given])
    return fine({ did: name })
  }
  return {
    origin: (clientIp, headers) => ({ clientIp, isRemote: isTunnel(headers), isLocal: !isTunnel(headers) }),
    signIn: async (form, { isRemote }) => note('signIn', form, isRemote),
    resolve: (token) => (token === TOKEN ? session : undefined),
    logout: (token) => void note('logout', token),
    me: ({ userId }) => ({ id: userId }),
    handoff: () => note('handoff'),
    command: async (_session, body) => note('command', body),
    runMacro: async (_session, body) => note('runMacro', body),
    answerData: (_session, entity, rawQuery) => note('answerData', entity, rawQuery),
    ...own,
  }
}

/** An audit in memory; `kept` can delay its answers. */
export function fakeAudit(own: Partial<AuditBook> = {}): AuditBook & { records: AuditRecord[]; awaited: boolean[] } {
  const records: AuditRecord[] = []
  const awaited: boolean[] = []
  return {
    records,
    awaited,
    async add(record, isAwaited = false) {
      records.push(record)
      awaited.push(isAwaited)
    },
    takes: () => true,
    late: () => {},
    ...own,
  }
}

/** What a test may replace. */
interface Own {
  rules?: Partial<Rules>
  session?: Session
  audit?: ReturnType<typeof fakeAudit>
  isEnabled?: boolean
  clock?: Clock
  log?: Log
  recordMs?: number
}

/** One request as a test writes it. */
export interface Ask {
  method?: string
  path: string
  as?: string
  headers?: OutgoingHttpHeaders
  /** Text as it is sent. */
  body?: string | Buffer
  json?: unknown
}

/** Starts the server; it ends with the test. */
export async function serveRest(t: { teardown(run: () => unknown): void }, own: Own = {}) {
  const { clock = systemClock, log = silentLog, isEnabled = true, audit = fakeAudit(), recordMs = 1000 } = own
  const asked: Asked[] = []
  const plain = JSON.parse(JSON.stringify(httpTable(3130, {})))
  const server = createHttpServer({
    log,
    clock,
    config: { ...(withDefaults(plain, {}) as HttpConfig), listen: '127.0.0.1:0' },
    identify: () => undefined,
    routes: [],
    surface: restSurface({
      rules: fakeRules(asked, own.rules, own.session),
      audit,
      clock,
      log,
      version: '1.2.3',
      isEnabled,
      limits: { recordMs },
    }),
    faultStatus: {},
    title: 'test',
    version: '1.2.3',
    metrics: createMetrics({ process: false }),
  })
  const { port } = await server.listen()
  t.teardown(() => server.close())
  return { port, asked, audit, ask: (what: Ask) => send(port, what) }
}

/** Without fetch, which would normalise paths. `body` is parsed as JSON if there is any. */
function send(port: number, { method, path, as, headers = {}, body, json }: Ask) {
  const content = json === undefined ? body : JSON.stringify(json)
  const length =
    content === undefined || headers['transfer-encoding'] ? {} : { 'content-length': Buffer.byteLength(content) }
  const signed = { ...length, ...(as === undefined ? {} : { authorization: `Bearer ${as}` }), ...headers }
  const verb = method ?? (content === undefined ? 'GET' : 'POST')
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test looks into
  return new Promise<{ status: number; headers: Record<string, any>; body: any; text: string }>((resolve, reject) => {
    const outgoing = request({ port, method: verb, path, headers: signed, agent: false }, (reply) => {
      text(reply).then((said) => {
        const read = said === '' ? undefined : JSON.parse(said)
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: read, text: said })
      }, reject)
    })
    outgoing.on('error', reject)
    outgoing.end(content)
  })
}
