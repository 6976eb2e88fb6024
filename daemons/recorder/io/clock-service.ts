/** The system's clock service, timedated, asked over D-Bus by the program that systemd brings for that. */
import { type ExecFileException, execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText, escapeControls, plainText, shortCopy } from '#kit/pure/text.ts'
import type { ClockService } from '../core/clocks/own-clock.ts'
import type { TimeSource } from '../wire/ntp.ts'

const NAME = 'org.freedesktop.timedate1'
const PLACE = [NAME, '/org/freedesktop/timedate1', NAME]

/** A list of all zones has 20 kB. */
const MOST_BYTES = 262_144

/** Network time is switched off by stopping its service, and until that has ended no time is taken. */
const STOPS_MS = 5000
const STOPS_LOOK_MS = 100
const STILL_STOPPING = /synchronization is enabled|previous request/i

const flag = Type.Object({ data: Type.Boolean() })
const readFacts = createReader(Type.Tuple([Type.Object({ data: Type.String() }), flag, flag, flag]))
const names = Type.Array(Type.String({ maxLength: 128 }))
const readNames = createReader(Type.Tuple([Type.Object({ data: Type.Tuple([names]) })]))

/** Fetches the time on most machines. It is not started for the question. @source org.freedesktop.timesync1(5) */
const FETCHER = 'org.freedesktop.timesync1'
const FETCHED = [FETCHER, '/org/freedesktop/timesync1', `${FETCHER}.Manager`, 'NTPMessage', 'ServerAddress']
const whole = Type.Integer({ minimum: 0 })
const octets = Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), { maxItems: 16 })
const message = Type.Tuple([
  // Leap, version, mode, stratum, precision; root delay and dispersion in µs; what its server names as its own.
  ...([whole, whole, whole, whole, Type.Integer(), whole, whole, octets] as const),
  // Four times in µs, the last when the answer came; whether it is left out; packets, jitter.
  ...([whole, whole, whole, whole, Type.Boolean(), whole, whole] as const),
])
const readFetched = createReader(
  Type.Tuple([Type.Object({ data: message }), Type.Object({ data: Type.Tuple([whole, octets]) })]),
)

/** By how much more the time may be wrong here than at its server: chosen large, as nobody tells it. */
const HOP_US = 50_000

interface ServiceParts {
  clock: Clock
  /** How long each question may take; key `clocks.service_ms`. */
  answerMs: number
  /** Default: `busctl`. */
  command?: string
}

/** @source org.freedesktop.timedate1(5) */
export function createClockService({ answerMs, clock, command = 'busctl' }: ServiceParts): ClockService {
  /** @returns what it says, or why it says nothing */
  function ask(...words: string[]): Promise<{ said: string } | { why: string }> {
    const args = ['--system', '--json=short', '--allow-interactive-authorization=no', ...words]
    const options = {
      ...({ timeout: answerMs, killSignal: 'SIGKILL', maxBuffer: MOST_BYTES } as const),
      env: { ...process.env, LC_ALL: 'C' },
    }
    return new Promise((resolve) => {
      execFile(command, args, options, (error, said, complaint) =>
        resolve(error ? { why: whyNot(error, complaint, answerMs) } : { said }),
      )
    })
  }

  /** @param read takes the lines of the answer, each a value */
  async function asked<Answer>(read: (values: unknown) => Answer, ...words: string[]): Promise<Answer> {
    const answer = await ask(...words)
    if ('why' in answer) throw missing(answer.why)
    try {
      return read(valuesOf(answer.said))
    } catch {
      throw missing(`it answers ${escapeControls(shortCopy(answer.said, 100))}`)
    }
  }

  async function told(method: string, ...words: string[]): Promise<void> {
    const answer = await ask('call', ...PLACE, method, ...words)
    if ('why' in answer) throw new Fault('clock_refused', `The system's clock service refuses this: ${answer.why}`)
  }

  return {
    async facts() {
      const wanted = ['Timezone', 'NTP', 'CanNTP', 'NTPSynchronized']
      const [zone, ntp, canNtp, synchronized] = await asked(readFacts, 'get-property', ...PLACE, ...wanted)
      return { zone: zone.data, ntp: ntp.data, canNtp: canNtp.data, synchronized: synchronized.data }
    },
    async source() {
      const answer = await ask('--auto-start=no', 'get-property', ...FETCHED)
      try {
        return 'why' in answer ? undefined : sourceOf(readFetched(valuesOf(answer.said)))
      } catch {
        // Another version of it, or nothing fetched yet.
        return undefined
      }
    },
    async zones() {
      const [list] = await asked(readNames, 'call', ...PLACE, 'ListTimezones')
      return list.data[0]
    },
    // The last word of each: nobody is asked for a password.
    setZone: (name) => told('SetTimezone', 'sb', name, 'false'),
    setNtp: (isOn) => told('SetNTP', 'bb', String(isOn), 'false'),
    async setTime(epochMs) {
      const endMs = clock.monotonicMs() + STOPS_MS
      for (;;) {
        try {
          return await told('SetTime', 'xbb', String(epochMs * 1000), 'false', 'false')
        } catch (error) {
          const isStopping = error instanceof Fault && STILL_STOPPING.test(error.message)
          if (!isStopping || clock.monotonicMs() > endMs) throw error
        }
        await new Promise<void>((resolve) => clock.after(STOPS_LOOK_MS, resolve))
      }
    },
  }
}

/** @param said lines, each of them JSON */
function valuesOf(said: string): unknown {
  return said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The most that a server may say which others can still ask: they are one further away. */
const FURTHEST = 14

/** What clients are told of a time that was fetched; undefined for a server that had none to give. */
function sourceOf([{ data: said }, { data: server }]: ReturnType<typeof readFetched>): TimeSource | undefined {
  const [leap, , , stratum, , delayUs, dispersionUs, , , , , cameUs] = said
  const [, address] = server
  if (leap > 2 || stratum < 1 || stratum > FURTHEST) return undefined
  return {
    leap: leap as 0 | 1 | 2,
    ...{ stratum: stratum + 1, rootDelayS: delayUs / 1e6, rootDispersionS: (dispersionUs + HOP_US) / 1e6 },
    // The server's address, or of IPv6 as much of a hash as fits. @source RFC 5905, 7.3
    reference: Uint8Array.from(
      address.length === 4 ? address : createHash('md5').update(Uint8Array.from(address)).digest(),
    ),
    setAtMs: cameUs / 1000,
  }
}

/** What the program says itself, or what became of it. */
function whyNot(error: ExecFileException, complaint: string, answerMs: number): string {
  if (error.code === 'ENOENT') return 'busctl, which comes with systemd, is not installed.'
  if (error.killed) return `no answer within ${durationText(answerMs)}.`
  const said = plainText(complaint.replace(/^(?:Call failed|Failed to [^:]{1,80}): /, ''), 200)
  const why = said === '' ? `busctl ended with ${error.code ?? error.signal}` : said
  return /access denied|authentication required/i.test(why)
    ? `${why}. Install polkitd, which then uses the rule of this package; in a container set the clock of its host.`
    : `${why.replace(/\.$/, '')}.`
}

function missing(why: string): Fault {
  return new Fault('clock_service_missing', `The system's clock service (timedated) cannot be reached: ${why}`)
}
