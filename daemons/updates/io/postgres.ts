/**
 * One connection to PostgreSQL with a deadline on everything, and what its errors mean. Loaded where `store.url` is set
 * alone: a server with a file of its own pays nothing for it.
 */
import { Socket } from 'node:net'
import { userInfo } from 'node:os'
import pg from 'pg'
import type { Clock } from '#kit/clock.ts'
import { certificateSentence, trustedAuthorities } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { readNamed, whyUnread } from '#kit/run/named-file.ts'
import type { PostgresAddress } from '../wire/store-address.ts'

export interface PostgresParts {
  clock: Clock
  address: PostgresAddress
  passwordFile: string
  caFile: string
  connectMs: number
  answerMs: number
  /** What is told to those who have to come again. */
  retryMs: number
}

/** A query with its values, or several without, separated by semicolons. */
export type Rows = Record<string, unknown>[]

export interface Connection {
  /**
   * Ends the connection if no answer comes in time.
   * @returns the rows; of several statements, those of the last one that gives any
   * @throws Fault `store_unreachable`, `store_write_failed`, `store_unusable`
   */
  query(sql: string, values?: readonly unknown[]): Promise<Rows>
  /** Called with each notification. */
  onNotification(handler: () => void): void
  /** Called once, when it has ended by itself. */
  onLost(handler: (fault: Fault) => void): void
  isOpen(): boolean
  /** Ends it at once: what was not committed has not happened. */
  destroy(): void
}

const CA_SETTING = 'store.ca_file'

/** @throws Fault `store_unreachable`, `store_unusable`, `password_file_unreadable`, `ca_file_unreadable` */
export async function connectPostgres(parts: PostgresParts): Promise<Connection> {
  const { address, clock, connectMs, retryMs } = parts
  const { database, host, isSecure, port, user = userInfo().username } = address
  const ca = isSecure && parts.caFile !== '' ? trustedAuthorities(CA_SETTING, parts.caFile) : undefined
  const password = passwordOf(parts)
  const socket = new Socket()
  const client = new pg.Client({
    ...{ host, port, user, database, application_name: 'plantroom-updates', keepAlive: true },
    // A function, so that nobody looks for a password in the environment and in ~/.pgpass.
    password: () => password,
    ssl: isSecure && { ...(ca && { ca }), rejectUnauthorized: true },
    stream: () => socket,
  })
  let lost: Fault | undefined
  let tell: ((fault: Fault) => void) | undefined
  const lose = (error: unknown) => {
    if (lost) return
    lost = faultOfPostgres(error, retryMs)
    socket.destroy()
    tell?.(lost)
  }
  client.on('error', lose)
  client.on('end', () => lose(new Error('the connection was closed')))

  async function within<Result>(ms: number, running: Promise<Result>): Promise<Result> {
    const late = Promise.withResolvers<never>()
    const timer = clock.after(ms, () => {
      const error = new Error(`no answer within ${ms} ms`)
      late.reject(error)
      lose(error)
    })
    try {
      return await Promise.race([running, late.promise])
    } catch (error) {
      throw faultOfPostgres(error, retryMs)
    } finally {
      timer.cancel()
      running.catch(() => {})
    }
  }

  try {
    await within(connectMs, client.connect())
  } catch (fault) {
    lose(fault)
    throw fault
  }
  return {
    async query(sql, values) {
      if (lost) throw lost
      const running = values ? client.query(sql, [...values]) : client.query(sql)
      const answer: unknown = await within(parts.answerMs, running)
      const all = (Array.isArray(answer) ? answer : [answer]) as { rows: Rows }[]
      return all.findLast(({ rows }) => rows.length > 0)?.rows ?? []
    },
    onNotification: (handler) => void client.on('notification', handler),
    onLost(handler) {
      tell = handler
      if (lost) handler(lost)
    },
    isOpen: () => lost === undefined,
    destroy() {
      tell = undefined
      lose(new Error('the connection was closed'))
    },
  }
}

function passwordOf({ address, passwordFile: file }: PostgresParts): string {
  if (file === '') return address.password ?? ''
  try {
    return readNamed(file).toString('utf8').split(/\r?\n/, 1)[0] ?? ''
  } catch (cause) {
    throw new Fault('password_file_unreadable', `store.password_file ${file} cannot be read (${whyUnread(cause)})`, {
      cause,
    })
  }
}

/** Who may sign in, which database, which rights. @source PostgreSQL 15, Appendix A: classes 28, 3D, 42 */
const UNUSABLE = /^(?:28|3D|42)/
/** Disk full, out of memory. @source PostgreSQL 15, Appendix A: 53100, 53200 */
const FULL = /^53[12]00$/

/** What an error of the package or of the server means. The sentence for callers names no host and no account. */
export function faultOfPostgres(error: unknown, retryMs: number): Fault {
  if (error instanceof Fault) return error
  const { code = '', message } = error as Error & { code?: string }
  if (FULL.test(code))
    return new Fault('store_write_failed', 'The database of this update server is full. Nothing was changed.', {
      cause: error,
    })
  if (UNUSABLE.test(code))
    return new Fault('store_unusable', `The database of this update server cannot be used: ${message}.`, {
      cause: error,
    })
  const certificate = certificateSentence(error, CA_SETTING)
  const why = certificate === undefined ? '' : ` Its TLS is refused: ${certificate}.`
  return unreachable(retryMs, why, error)
}

/** As `connectPostgres`, with host and port in the fault: at the start only the operator reads it, in the log. */
export async function connectAtStart(parts: PostgresParts): Promise<Connection> {
  const { host, port } = parts.address
  return await connectPostgres(parts).catch((fault: Fault) => {
    if (fault.code !== 'store_unreachable') throw fault
    const why = certificateSentence(fault.cause, CA_SETTING) ?? ((fault.cause as Error | undefined) ?? fault).message
    throw new Fault(
      'store_unreachable',
      `The database of store.url cannot be reached at ${host}, port ${port}: ${why}. Look whether it runs there; under systemd this server tries again by itself.`,
      { cause: fault.cause },
    )
  })
}

export function unreachable(retryMs: number, why = '', cause?: unknown): Fault {
  return new Fault(
    'store_unreachable',
    `The database of this update server does not answer now; nothing was changed.${why} Try again soon.`,
    { cause, details: { retryAfterMs: retryMs } },
  )
}
