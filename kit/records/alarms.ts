/** Alarms: messages about entries of the ledger to people (mail) and programs (webhook), limited in each hour. */
import http from 'node:http'
import https from 'node:https'
import tls from 'node:tls'
import { type Static, type TProperties, Type } from 'typebox'
import { Value } from 'typebox/value'
import { atMost, type Clock, type Timer } from '../clock.ts'
import type { Log } from '../log.ts'
import { exchange } from '../net/post.ts'
import { webhookSignature } from '../net/signature.ts'
import { lookupSafely, parseTarget, trustedAuthorities } from '../net/target.ts'
import { Fault, faultOf } from '../pure/fault.ts'
import { Backoff } from '../pure/pace.ts'
import { count, milliseconds } from '../pure/setting-keys.ts'
import { durationText } from '../pure/text.ts'
import { readNamed, whyUnread } from '../run/named-file.ts'
import type { Part } from '../run/parts.ts'
import { createStore } from '../store/store.ts'
import type { Ledger } from './ledger.ts'
import { type Conditions, type LedgerEntry, severities } from './ledger-entry.ts'

// Settings.

const MOST_ENTRIES = 1000

/** The least urgent severity that is sent by one way. */
function severityKey(of: string) {
  return Type.Enum([...severities], { default: 'fault', description: `least urgent entries that ${of} tells` })
}

function webhookKeys() {
  return {
    url: Type.String({
      default: '',
      maxLength: 2048,
      description: 'where alarms are posted, http:// or https://; empty: nowhere',
      check: targetSentence,
    }),
    url_severity: severityKey('the webhook'),
    secret_file: Type.String({
      default: '',
      maxLength: 4096,
      description: 'file that holds the secret with which the webhook is signed; empty: not signed',
    }),
    ca_file: Type.String({
      default: '',
      maxLength: 4096,
      description: 'PEM file of further certificate authorities for the webhook',
    }),
    timeout_ms: milliseconds(10_000, 100, 600_000, 'time a target has for its answer'),
  }
}

/** The `alarms` table. @param own further keys, such as those of mail */
export function alarmsTable<Own extends TProperties>(own: Own) {
  return Type.Object(
    {
      ...webhookKeys(),
      ...own,
      per_hour: count(12, 1, 3600, 'messages an hour at most each way; what comes meanwhile is told in the next'),
      gather_ms: milliseconds(
        5000,
        0,
        3_600_000,
        'wait before a message, so that what comes together is told together',
      ),
      entries: count(50, 1, MOST_ENTRIES, 'entries in one message; of more, the oldest are only counted'),
      retry_first_ms: milliseconds(10_000, 10, 3_600_000, 'wait after a message that was not taken; doubles each time'),
      retry_max_ms: milliseconds(900_000, 10, 86_400_000, 'longest such wait'),
      give_up_ms: milliseconds(86_400_000, 1000, 604_800_000, 'age at which what could not be told is only counted'),
    },
    { additionalProperties: false, default: {}, description: 'who is told what the ledger opens and closes' },
  )
}

/** Keys of alarms by mail, for a daemon that has a mail server. */
export function mailAlarmKeys() {
  return {
    mail_to: Type.String({
      default: '',
      maxLength: 320,
      description: 'address that alarms are mailed to; empty: nobody',
    }),
    mail_severity: severityKey('mail'),
  }
}

export type AlarmsConfig = Static<ReturnType<typeof alarmsTable<Record<never, never>>>>

function targetSentence(value: unknown): string | undefined {
  if (value === '') return undefined
  try {
    parseTarget(String(value))
    return undefined
  } catch (fault) {
    return `it ${(fault as Fault).message}`
  }
}

/** What the part needs from the daemon. */
interface AlarmPartNeeds {
  clock: Clock
  log: Log
  config: { alarms: AlarmsConfig }
  stateFolder: string
}

/**
 * The part `alarms` of a daemon.
 * @param extra.ways ways beside the webhook, such as mail
 * @throws Fault `ca_file_unreadable`, `alarm_secret_unreadable`
 */
export function alarmPart(
  { clock, config: { alarms: config }, log, stateFolder: folder }: AlarmPartNeeds,
  ledger: AlarmParts['ledger'],
  { says, ways = [] }: { says: () => AlarmSender; ways?: readonly (AlarmWay | undefined)[] },
): Part {
  const all = [webhookWay(config, clock, says), ...ways].filter((way) => way !== undefined)
  const store = createStore<Untold>({ folder, name: 'alarms', check: checkUntold, initial: () => ({}), log, clock })
  const save = (untold: Untold) => store.save(untold)
  const alarms = startAlarms({ clock, log, ledger, ways: all, config, save })
  async function start(): Promise<void> {
    if (all.length === 0) return
    // What it was to tell is in the ledger all the same.
    alarms.resume(await store.load().catch((fault) => void log.error('alarms not resumed', { fault })))
  }
  return { name: 'alarms', start, stop: () => alarms.close(), stopDeadlineMs: 3 * LAST_MS }
}

/** What each way has not told yet: entries by number, and how many found no room. */
const untold = Type.Record(
  Type.String(),
  // Under way and waiting.
  Type.Object({
    ids: Type.Array(Type.Integer(), { maxItems: 2 * MOST_ENTRIES }),
    omitted: Type.Integer({ minimum: 0 }),
  }),
)
type Untold = Static<typeof untold>

function checkUntold(value: unknown): Untold {
  if (Value.Check(untold, value)) return value
  throw new Fault('store_damaged', 'it is no list of alarms')
}

// One way: the entries that wait for the next message, and the messages of the last hour.

/** One entry in a message, as it was when it opened or ended. */
interface AlarmItem extends LedgerEntry {
  event: 'opened' | 'ended'
}

/** One message. */
export interface AlarmMessage {
  items: readonly AlarmItem[]
  /** Further ones that found no room. */
  omitted: number
}

/** A way by which messages are sent. */
export interface AlarmWay {
  /** For the ledger: `mail`, `webhook`. */
  name: string
  severity: (typeof severities)[number]
  /** @throws if the message was not taken: it is then tried again */
  send(message: AlarmMessage, signal: AbortSignal): Promise<void>
}

interface AlarmParts {
  clock: Clock
  log: Log
  ledger: Pick<Ledger, 'onTold' | 'entry'> & Conditions
  ways: readonly AlarmWay[]
  /** Keeps what is not told yet over a restart or a power cut. */
  save(untold: Untold): Promise<void>
  config: Pick<
    AlarmsConfig,
    'per_hour' | 'gather_ms' | 'entries' | 'retry_first_ms' | 'retry_max_ms' | 'give_up_ms' | 'timeout_ms'
  >
}

const HOUR_MS = 3_600_000
/** What changes within this time is kept by one write. */
const SAVE_MS = 1000
/** Time for a last message when the daemon stops. */
const LAST_MS = 2000
/** The condition of a way that fails; no message about it is sent by that way. */
const UNDELIVERED = 'alarm_undelivered'

interface Alarms {
  /** Goes on with what the run before has not told; undefined if that is not known. */
  resume(before: Untold | undefined): void
  /** Ends it; what waits is sent once more, within the time of one message, and else kept for the next run. */
  close(): Promise<void>
}

export function startAlarms({ ledger, save, ways, ...parts }: AlarmParts): Alarms {
  const { clock, log } = parts
  const queues = ways.map((way) => ({ way, queue: new WayQueue({ ...parts, ledger, changed }, way) }))
  let timer: Timer | undefined
  /** A disk that refuses is the ledger's to report: it has the entries themselves. */
  const saveNow = () =>
    save(Object.fromEntries(queues.map(({ way, queue }) => [way.name, queue.untold()]))).catch((fault) =>
      log.warning('alarms not kept', { fault }),
    )
  function changed(): void {
    timer ??= clock.after(SAVE_MS, () => {
      timer = undefined
      void saveNow()
    })
  }
  ledger.onTold((entry, event) => {
    for (const { way, queue } of queues) if (isFor(way, entry)) queue.add({ ...entry, event })
  })
  return {
    resume(before = {}) {
      for (const { way, queue } of queues) queue.resume(before[way.name] ?? { ids: [], omitted: 0 })
    },
    async close() {
      await Promise.all(queues.map(({ queue }) => queue.close()))
      timer?.cancel()
      if (timer !== undefined) await saveNow()
    },
  }
}

function isFor({ name, severity }: AlarmWay, entry: LedgerEntry): boolean {
  if (entry.what === UNDELIVERED && entry.where === name) return false
  return severities.indexOf(entry.severity) <= severities.indexOf(severity)
}

/** What one way needs. */
interface WayParts extends Omit<AlarmParts, 'ways' | 'save'> {
  /** What is not told yet has changed. */
  changed(): void
}

class WayQueue {
  readonly #parts: WayParts
  readonly #way: AlarmWay
  readonly #waits: Backoff
  readonly #stopper = new AbortController()
  /** By entry: of one that opened and ended meanwhile, only the end is told, which says both. */
  #waiting = new Map<number, { item: AlarmItem; sinceMs: number }>()
  #omitted = 0
  /** Numbers of the entries in the message that is being sent. */
  #underWay: readonly number[] = []
  /** Monotonic instants of the messages taken within the last hour. */
  #sentMs: number[] = []
  #timer: Timer | undefined
  #sending: Promise<void> | undefined

  constructor(parts: WayParts, way: AlarmWay) {
    const { retry_first_ms: firstMs, retry_max_ms: maxMs } = parts.config
    this.#parts = parts
    this.#way = way
    this.#waits = new Backoff({ firstMs, maxMs: Math.max(firstMs, maxMs) })
  }

  add(item: AlarmItem): void {
    const { clock, config } = this.#parts
    const sinceMs = this.#waiting.get(item.id)?.sinceMs ?? clock.monotonicMs()
    this.#waiting.delete(item.id)
    this.#waiting.set(item.id, { item, sinceMs })
    this.#bound()
    this.#parts.changed()
    this.#plan(config.gather_ms)
  }

  untold(): Untold[string] {
    return { ids: [...new Set([...this.#underWay, ...this.#waiting.keys()])], omitted: this.#omitted }
  }

  /** Entries as they are now: one that is over meanwhile is told as such. One that was dropped is only counted. */
  resume({ ids, omitted }: Untold[string]): void {
    this.#omitted += omitted
    for (const id of ids) {
      try {
        const entry = this.#parts.ledger.entry(id)
        this.add({ ...entry, event: entry.until === null ? 'opened' : 'ended' })
      } catch {
        this.#omitted++
      }
    }
  }

  async close(): Promise<void> {
    this.#timer?.cancel()
    await atMost(this.#parts.clock, LAST_MS, this.#sending ?? Promise.resolve())
    this.#timer?.cancel()
    // A target that hangs gets no second message: the entries of the first would not be kept.
    const isHanging = this.#sending !== undefined
    if (!isHanging && this.#waiting.size > 0 && this.#waitForRoomMs() === 0) await this.#send(LAST_MS)
    this.#stopper.abort()
    this.#timer?.cancel()
  }

  #plan(leastMs: number): void {
    if (this.#timer || this.#sending || this.#waiting.size === 0 || this.#stopper.signal.aborted) return
    this.#timer = this.#parts.clock.after(Math.max(leastMs, this.#waitForRoomMs()), () => {
      this.#timer = undefined
      this.#sending = this.#send(this.#parts.config.timeout_ms)
    })
  }

  /** Until the hour has room for one more message. */
  #waitForRoomMs(): number {
    const { clock, config } = this.#parts
    const nowMs = clock.monotonicMs()
    this.#sentMs = this.#sentMs.filter((atMs) => nowMs - atMs < HOUR_MS)
    const [first] = this.#sentMs
    return first !== undefined && this.#sentMs.length >= config.per_hour ? first + HOUR_MS - nowMs : 0
  }

  #bound(): void {
    for (const id of this.#waiting.keys()) {
      if (this.#waiting.size <= this.#parts.config.entries) return
      this.#waiting.delete(id)
      this.#omitted++
    }
  }

  /** Never rejects: what was not taken waits again. */
  async #send(timeoutMs: number): Promise<void> {
    const { clock, config, ledger } = this.#parts
    const [taken, omitted] = [this.#waiting, this.#omitted]
    this.#underWay = [...taken.keys()]
    this.#waiting = new Map()
    this.#omitted = 0
    let waitMs = config.gather_ms
    try {
      const items = Array.from(taken.values(), ({ item }) => item)
      await withinTime(this.#way, { items, omitted }, { clock, timeoutMs, stop: this.#stopper.signal })
      this.#sentMs.push(clock.monotonicMs())
      this.#waits.reset()
      ledger.clear(UNDELIVERED, this.#way.name)
    } catch (error) {
      waitMs = this.#waits.next()
      this.#putBack(taken, omitted)
      ledger.raise(undelivered(this.#way.name, faultOf(error, 'webhook_unreachable', String(error)).message))
    }
    this.#sending = undefined
    this.#underWay = []
    this.#parts.changed()
    this.#plan(waitMs)
  }

  /** Puts entries back before those that came meanwhile; the ones that are too old are only counted. */
  #putBack(taken: ReadonlyMap<number, { item: AlarmItem; sinceMs: number }>, omitted: number): void {
    const { clock, config, log } = this.#parts
    const nowMs = clock.monotonicMs()
    const kept = [...taken].filter(([, { sinceMs }]) => nowMs - sinceMs <= config.give_up_ms)
    const count = taken.size - kept.length
    if (count > 0) log.warning('alarms given up', { way: this.#way.name, count })
    this.#omitted += omitted + count
    this.#waiting = new Map([...kept, ...this.#waiting])
    this.#bound()
  }
}

/** One try, which ends in time whether or not the way obeys its signal. */
async function withinTime(
  way: AlarmWay,
  message: AlarmMessage,
  { clock, timeoutMs, stop }: { clock: Clock; timeoutMs: number; stop: AbortSignal },
): Promise<void> {
  const late = Promise.withResolvers<never>()
  const cut = new AbortController()
  const timer = clock.after(timeoutMs, () => {
    const fault = new Fault('webhook_unreachable', `no answer within ${durationText(timeoutMs)}`)
    cut.abort(fault)
    late.reject(fault)
  })
  try {
    await Promise.race([way.send(message, AbortSignal.any([cut.signal, stop])), late.promise])
  } finally {
    timer.cancel()
  }
}

function undelivered(way: string, why: string) {
  const sentence = `Alarms by ${way} are not taken: ${why}. They are tried again; look at the table alarms of the settings.`
  return { what: UNDELIVERED, where: way, severity: 'warning', sentence } as const
}

// The two ways.

/** The sender that every message names. */
interface AlarmSender {
  role: string
  name: string
}

const CA_SETTING = 'alarms.ca_file'
/** Bytes of an answer that are read before it is cut off: nobody looks at them. */
const RESPONSE_BYTES = 65_536

/**
 * @returns undefined if no address is set
 * @throws Fault `ca_file_unreadable`, `alarm_secret_unreadable` at the start, not at the first alarm
 */
export function webhookWay(config: AlarmsConfig, clock: Clock, says: () => AlarmSender): AlarmWay | undefined {
  if (config.url === '') return undefined
  const secret = config.secret_file === '' ? null : secretOf(config.secret_file)
  const agent = new https.Agent({ keepAlive: false, ...authorities(config.ca_file) })
  return {
    name: 'webhook',
    severity: config.url_severity,
    async send({ items, omitted }, signal) {
      const { role, name } = says()
      const text = JSON.stringify({ event: 'alarm', role, name, timestamp: clock.epochMs(), omitted, entries: items })
      const body = new TextEncoder().encode(text)
      const url = parseTarget(config.url)
      const options = {
        ...{ method: 'POST', signal, lookup: lookupSafely },
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': String(body.byteLength),
          'X-Svc-Event': 'alarm',
          ...(secret === null ? {} : { 'X-Svc-Signature': webhookSignature(body, secret) }),
        },
      }
      const isSecure = url.protocol === 'https:'
      const outgoing = isSecure ? https.request(url, { ...options, agent }) : http.request(url, options)
      const { status, done } = await exchange(outgoing, body, { responseBytes: RESPONSE_BYTES, caSetting: CA_SETTING })
      await done
      if (status < 200 || status > 299)
        throw new Fault('webhook_unreachable', `the target answered ${status}, expected 200 to 299`)
    },
  }
}

function authorities(file: string) {
  return file === '' ? {} : { secureContext: tls.createSecureContext({ ca: trustedAuthorities(CA_SETTING, file) }) }
}

function secretOf(file: string): string {
  try {
    return readNamed(file).toString('utf8').trim()
  } catch (cause) {
    throw new Fault('alarm_secret_unreadable', `alarms.secret_file ${file} cannot be read (${whyUnread(cause)})`, {
      cause,
    })
  }
}

/** One mail. */
interface AlarmMail {
  to: string
  subject: string
  text: string
}

/** @returns undefined if nobody is named */
export function mailWay(
  config: { mail_to: string; mail_severity: AlarmWay['severity'] },
  post: (mail: AlarmMail) => Promise<void>,
  says: () => AlarmSender,
): AlarmWay | undefined {
  if (config.mail_to === '') return undefined
  return {
    name: 'mail',
    severity: config.mail_severity,
    send: (message) => post({ to: config.mail_to, ...mailOf(message, says()) }),
  }
}

function mailOf({ items, omitted }: AlarmMessage, { role, name }: AlarmSender): Omit<AlarmMail, 'to'> {
  const [first] = items
  const more = items.length + omitted - 1
  const subject = `${name}: ${first ? headOf(first) : 'alarms'}${more > 0 ? ` and ${more} more` : ''}`
  const rest = omitted > 0 ? [`${omitted} further entries are not listed here; the ${role} has them on its page.`] : []
  return { subject: subject.slice(0, 200), text: `${[...items.map(paragraphOf), ...rest].join('\n\n')}\n` }
}

function headOf({ event, severity, what, where }: AlarmItem): string {
  return `${event === 'opened' ? severity : 'over'}: ${what} at ${where}`
}

function paragraphOf(item: AlarmItem): string {
  const times = item.count > 1 ? `, ${item.count} times` : ''
  const since = `since ${new Date(item.since).toISOString()}`
  const life = item.event === 'opened' ? since : `${since}, for ${durationText(item.durationMs)}${times}`
  return `${headOf(item)}\n${item.sentence}\n${life}`
}
