/**
 * Driver for a board: what it plays, sends or shares, heard as it changes; routes, volume and USB sharing by command.
 * @source interface document 2, part B; docs/board.md
 */
import { Fault } from '#kit/pure/fault.ts'
import {
  type BoardValues,
  readBoardAnswer,
  readBoardMessage,
  readBoardRefusal,
  readBoardStatus,
} from '../../../wire/board.ts'
import { foldedName } from '../../control/reading.ts'
import type { Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import {
  type Ack,
  type DeviceAnswer,
  type Driver,
  type DriverCommand,
  type DriverContext,
  type DriverSession,
  offlineUnless,
  type Place,
  tcpPlaceOf,
} from '../driver.ts'

export function createBoardDriver(): Driver {
  return {
    name: 'board',
    reads: () => ({ transport: ['host', 'port'], config: [], polls: true }),
    flaw(device) {
      try {
        tcpPlaceOf(device)
        return undefined
      } catch (fault) {
        return (fault as Fault).message
      }
    },
    async open(device, zones, context) {
      const session = new BoardSession(device, zones, context)
      await session.open()
      return session
    },
  }
}

/** A form to a path of the board. */
interface Post {
  path: string
  form: Readonly<Record<string, string>>
}

type Args = Readonly<Record<string, Json>>

/** What each verb sends. */
const VERBS: ReadonlyMap<string, (args: Args) => Post> = new Map<string, (args: Args) => Post>([
  ['route', (args) => ({ path: '/api/route', form: formOf(args, ROUTE_FIELDS) })],
  ['stop', () => ({ path: '/api/route', form: { mcast: '' } })],
  ['volume', (args) => ({ path: '/api/volume', form: formOf(inWhole(args), ['volume', 'mute']) })],
  ['volume_db', (args) => ({ path: '/api/volume_db', form: formOf(args, ['volume_db', 'mute']) })],
  ['mute', (args) => ({ path: '/api/mute', form: { mute: '1', ...formOf(args, ['mute']) } })],
  ['unmute', () => ({ path: '/api/mute', form: { mute: '0' } })],
  ['detach', () => ({ path: '/api/usbip', form: { detach: '1' } })],
])
const ROUTE_FIELDS = ['mcast', 'port', 'source', 'link_ms', 'mclk_offset', 'encoding']

/** Fields that are not given or null are left out; the board says itself what is wrong with the others. */
function formOf(args: Args, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = args[name] ?? null
      if (typeof value === 'boolean') return [[name, value ? '1' : '0']]
      return typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : []
    }),
  )
}

/** The fader of a board has whole numbers, ramps and steps have fractions: down, so that a limit holds. */
function inWhole(args: Args): Args {
  const { volume } = args
  return typeof volume === 'number' ? { ...args, volume: Math.floor(volume) } : args
}

class BoardSession implements DriverSession {
  readonly #context: DriverContext
  readonly #place: Place
  readonly #zones: readonly Row[]
  readonly #headers: Readonly<Record<string, string>>
  readonly #ended = new AbortController()

  constructor(device: Row, zones: readonly Row[], context: DriverContext) {
    this.#context = context
    this.#place = tcpPlaceOf(device)
    this.#zones = zones
    this.#headers = credentials(context.secret('password'))
  }

  /** Reads the status first: a board that takes no password from here says so. */
  async open(): Promise<void> {
    await this.#read(this.#ended.signal)
    const place = { kind: 'websocket', ...this.#place, path: '/ws', headers: this.#headers } as const
    await this.#context.connect(place, (frame) => {
      const message = readBoardMessage(frame)
      if (message?.values) this.#report(message.values)
      return message !== undefined
    })
  }

  async execute({ verb, args }: DriverCommand, signal: AbortSignal): Promise<Ack> {
    const post = VERBS.get(foldedName(verb))?.(args)
    if (!post)
      throw new Fault('driver_value', `a board takes ${[...VERBS.keys()].join(', ')}, and not ${JSON.stringify(verb)}`)
    const headers = { ...this.#headers, 'content-type': 'application/x-www-form-urlencoded' }
    const body = new TextEncoder().encode(new URLSearchParams(post.form).toString())
    const asked = { ...this.#place, method: 'POST', path: post.path, headers, body }
    const answer = this.#checked(await this.#context.request(asked, signal))
    this.#report(readBoardAnswer(answer.body))
    return {}
  }

  async poll(signal: AbortSignal): Promise<void> {
    await offlineUnless(() => this.#read(signal), this.#context, signal)
  }

  async close(): Promise<void> {
    this.#ended.abort(new Fault('device_cut_off', 'the board is being closed'))
  }

  async #read(signal: AbortSignal): Promise<void> {
    const asked = { ...this.#place, method: 'GET', path: '/api/status', headers: this.#headers }
    const values = readBoardStatus(this.#checked(await this.#context.request(asked, signal)).body)
    if (values === undefined)
      throw new Fault('device_answer', `${this.#place.host} answers what no board says: look at host and port`)
    this.#report(values)
  }

  #report(values: BoardValues): void {
    this.#context.online(true)
    for (const { id } of this.#zones) this.#context.report({ zoneId: id }, values)
  }

  /** @throws Fault `device_refused` */
  #checked(answer: DeviceAnswer): DeviceAnswer {
    const { status, body } = answer
    if (status === 200) return answer
    if (status === 401)
      throw new Fault('device_refused', "the board takes no password from here: put the board's into the device")
    const sentence = readBoardRefusal(body)
    throw new Fault(
      'device_refused',
      sentence === undefined ? `the board answers ${status}` : `the board says: ${sentence}`,
    )
  }
}

/** HTTP Basic in UTF-8. @source interface document 2, part B, Authentication; RFC 7617 */
function credentials(password: string | null): Record<string, string> {
  if (password === null || password === '') return {}
  const bytes = new TextEncoder().encode(`admin:${password}`)
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` }
}
