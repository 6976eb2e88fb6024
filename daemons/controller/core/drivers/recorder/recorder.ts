/**
 * Driver for a recorder: its cameras are zones, and so are the outputs of cameras; what it sees becomes values that
 * triggers watch, presets and outputs are commands.
 * @source interface document 3, part A; docs/recorder.md, Status feed
 */
import type { Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  claimKinds,
  type EventGroup,
  eventGroups,
  type RecorderAddress,
  type RecorderMessage,
  readCameras,
  readOutput,
  readOutputs,
  readRecorderAddress,
  readRecorderMessage,
  readRecorderRefusal,
  type SaidCamera,
  type SaidClaim,
  type SaidEvent,
  type SaidOutput,
} from '../../../wire/recorder.ts'
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
  tcpPlaceOf,
  type WebPlace,
} from '../driver.ts'
import { addressOf, columnOf, flawIn, inside } from '../row-config.ts'
import { switchedBy, zonePatch } from '../zone-values.ts'

export const RECORDER_PORT = 3133

/** Pulses last minutes. With a later end, an output is shown as off only once the recorder says so. */
const LONGEST_PULSE_MS = 3_600_000

/** Events of a camera and a group that may be under way at once; beyond that the oldest counts as over. */
const MOST_OPEN = 32

/** Cameras that are asked for at once: one takes 1 to 2 KB. A recorder has 128 at most. */
const PAGE = 32
const MOST_PAGES = 8

export function createRecorderDriver(): Driver {
  return {
    name: 'recorder',
    reads: () => ({ transport: ['host', 'port'], config: ['root_ca'], polls: true }),
    flaw: (device) => flawIn(() => placeOf(device)),
    zoneFlaw: (zone) =>
      readRecorderAddress(addressOf(zone)) === undefined
        ? 'its address names no camera: the id of one, such as 4f1c09aa, or of one of its outputs, 4f1c09aa/relay1'
        : undefined,
    still(device, zone) {
      const address = readRecorderAddress(addressOf(zone))
      if (address === undefined || address.output !== null) return undefined
      const path = `${pathOf(address.camera)}/still.jpg?width=${STILL_PIXELS}`
      return { ...placeOf(device), method: 'GET', path, headers: headersOf(device.api_key) }
    },
    async open(device, zones, context) {
      const session = new RecorderSession(device, zones, context)
      await session.open()
      return session
    },
  }
}

/** Width of a picture on the pages: a tile of a phone at twice its dots. */
const STILL_PIXELS = 640

function headersOf(token: Json | undefined): Readonly<Record<string, string>> {
  return typeof token === 'string' && token !== '' ? { authorization: `Bearer ${token}` } : {}
}

/** HTTPS if the device has a root CA. @throws Fault `transport_invalid` */
function placeOf(device: Row): WebPlace {
  const place = tcpPlaceOf(device, RECORDER_PORT)
  const { value: root } = inside(columnOf(device, 'config'), 'root_ca')
  if (root === undefined) return place
  if (typeof root !== 'string' || !root.includes('-----BEGIN CERTIFICATE-----'))
    throw new Fault('transport_invalid', `config.root_ca of device ${device.id} is no certificate`)
  return { ...place, tls: { root } }
}

type Args = Readonly<Record<string, Json>>

interface Post {
  path: string
  body: { readonly [key: string]: Json }
}

/** Where a command goes: a camera, one of its outputs, or, for the recorder as a whole, what the args name. */
type Target = RecorderAddress | undefined

/**
 * What each verb sends. A command to a zone goes only to the camera or output in its address: a user with access to a
 * camera's zone can neither switch that camera's outputs, which are zones of their own, nor press a button.
 */
const VERBS: ReadonlyMap<string, (args: Args, target: Target) => Post> = new Map<
  string,
  (args: Args, target: Target) => Post
>([
  ['preset', turning],
  ['on', (args, target) => switching(args, target, 'on')],
  ['off', (args, target) => switching(args, target, 'off')],
  ['pulse', (args, target) => switching(args, target, 'pulse')],
  ['press', pressing],
])

function turning(args: Args, target: Target): Post {
  if (target && target.output !== null) throw new Fault('driver_value', 'this zone is an output, which does not turn')
  const camera = target?.camera ?? textIn(args, ['camera'], 'camera is missing: the id of one, or command its zone')
  const token = textIn(args, ['preset', 'token', 'value'], 'preset is missing: the token of one')
  return { path: `${pathOf(camera)}/ptz/preset`, body: { token } }
}

function switching(args: Args, target: Target, state: string): Post {
  if (target?.output === null)
    throw new Fault(
      'driver_value',
      'this zone is a camera: an output is a zone of its own, with CAMERA/OUTPUT as its address',
    )
  const camera = target?.camera ?? textIn(args, ['camera'], 'camera is missing: the id of one, or command a zone')
  const output = target?.output ?? textIn(args, ['output'], 'output is missing: the id of one of the camera')
  const { seconds = null } = args
  const body: Post['body'] = state === 'pulse' && seconds !== null ? { state, seconds } : { state }
  return { path: `${pathOf(camera)}/outputs/${encodeURIComponent(output)}`, body }
}

function pressing(args: Args, target: Target): Post {
  if (target)
    throw new Fault('driver_value', 'a button is pressed at the recorder as a whole: name the device, and no zone')
  const rule = textIn(args, ['rule', 'value'], 'rule is missing: the id of one that has a button')
  return { path: `/api/action-rules/${encodeURIComponent(rule)}/press`, body: {} }
}

function pathOf(camera: string): string {
  return `/api/cameras/${encodeURIComponent(camera)}`
}

/** @throws Fault `driver_value` */
function textIn(args: Args, names: readonly string[], missing: string): string {
  const said = names.map((name) => args[name]).find((value) => typeof value === 'string' || typeof value === 'number')
  if (said === undefined || said === '') throw new Fault('driver_value', missing)
  return String(said)
}

/** What a camera shows while nothing of it is under way. */
const NOTHING: Readonly<Record<string, Json>> = Object.fromEntries([
  ...eventGroups.map((group) => [group, false]),
  ...claimKinds.map((kind) => [`camera_${kind}`, false]),
])

class RecorderSession implements DriverSession {
  readonly #context: DriverContext
  readonly #device: Row
  readonly #place: WebPlace
  readonly #headers: Readonly<Record<string, string>>
  /** Zones by the address that they have, of a camera or an output. */
  readonly #zones: ReadonlyMap<string, readonly Row[]>
  /** Events under way, by camera and group. */
  readonly #open = new Map<string, Set<string>>()
  /** Ends of outputs that end by themselves, of which the recorder says nothing. */
  readonly #ends = new Map<string, Timer>()
  readonly #closed = new AbortController()

  constructor(device: Row, zones: readonly Row[], context: DriverContext) {
    this.#context = context
    this.#device = device
    this.#place = placeOf(device)
    this.#headers = headersOf(context.secret('api_key'))
    this.#zones = Map.groupBy(zones, (zone) => addressOf(zone).trim())
  }

  /** Reads the cameras first, which also shows whether the recorder accepts the token. */
  async open(): Promise<void> {
    const { signal } = this.#closed
    await this.#checkIsPlain(signal)
    await this.#read(signal)
    for (const address of this.#addresses()) if (address.output === null) this.#report(keyOf(address), NOTHING)
    for (const camera of new Set(this.#addresses().flatMap(({ camera, output }) => (output === null ? [] : [camera]))))
      await this.#readOutputs(camera, signal)
    const place = { kind: 'websocket', ...this.#place, path: '/ws?hello=ids', headers: this.#headers } as const
    await this.#context.connect(place, (frame) => {
      const message = readRecorderMessage(frame)
      if (message) this.#hear(message)
      return message !== undefined
    })
  }

  async execute({ verb, zone, args }: DriverCommand, signal: AbortSignal): Promise<Ack> {
    const name = foldedName(verb)
    // {"on": false} is off.
    const isOff = name === 'on' && switchedBy({ verb, args }) === false
    const make = VERBS.get(isOff ? 'off' : name)
    if (!make)
      throw new Fault(
        'driver_value',
        `a recorder takes ${[...VERBS.keys()].join(', ')}, and not ${JSON.stringify(verb)}`,
      )
    const target = zone && readRecorderAddress(addressOf(zone))
    const { body, path } = make(args, target)
    const headers = { ...this.#headers, 'content-type': 'application/json' }
    const bytes = new TextEncoder().encode(JSON.stringify(body))
    const answer = await this.#context.request({ ...this.#place, method: 'POST', path, headers, body: bytes }, signal)
    this.#requireDone(answer)
    const output = path.includes('/outputs/')
      ? readOutput(answer.body, target?.camera ?? String(args.camera))
      : undefined
    if (output) this.#reportOutput(output)
    return {}
  }

  async poll(signal: AbortSignal): Promise<void> {
    await offlineUnless(() => this.#read(signal), this.#context, signal)
  }

  async close(): Promise<void> {
    for (const end of this.#ends.values()) end.cancel()
    this.#closed.abort(new Fault('device_cut_off', 'the recorder is being closed'))
  }

  /** Called before a token is sent over plain HTTP: a recorder that was switched to HTTPS answers with a redirect. */
  async #checkIsPlain(signal: AbortSignal): Promise<void> {
    if (this.#place.tls) return
    const { status } = await this.#context.request({ ...this.#place, method: 'GET', path: '/api/identity' }, signal)
    if ([301, 302, 307, 308].includes(status))
      throw new Fault(
        'device_refused',
        'the recorder speaks HTTPS, and its root CA was not adopted yet: on the page System, under Found on the network, compare its fingerprint and adopt it',
      )
  }

  async #read(signal: AbortSignal): Promise<void> {
    const all = new Map<string, SaidCamera>()
    for (let page = 0, after = ''; page < MOST_PAGES; page++) {
      const known = all.size
      const cameras = await this.#readPage(after, signal)
      for (const camera of cameras) all.set(camera.id, camera)
      after = cameras.at(-1)?.id ?? ''
      // A recorder from before pages answers with all of them each time.
      if (cameras.length !== PAGE || all.size === known) break
    }
    this.#hearAll([...all.values()])
  }

  async #readPage(after: string, signal: AbortSignal): Promise<readonly SaidCamera[]> {
    const path = `/api/cameras?limit=${PAGE}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`
    const answer = await this.#context.request({ ...this.#place, method: 'GET', path, headers: this.#headers }, signal)
    this.#requireDone(answer)
    const cameras = readCameras(answer.body)
    if (cameras === undefined)
      throw new Fault('device_answer', `${this.#place.host} answers what no recorder says: look at host and port`)
    return cameras
  }

  /** A camera without outputs, and a recorder too old to have any, refuse: then there are none. */
  async #readOutputs(camera: string, signal: AbortSignal): Promise<void> {
    const asked = { ...this.#place, method: 'GET', path: `${pathOf(camera)}/outputs`, headers: this.#headers }
    const { body, status } = await this.#context.request(asked, signal)
    if (status === 200) for (const output of readOutputs(body, camera)) this.#reportOutput(output)
  }

  #hear(message: RecorderMessage): void {
    this.#context.online(true)
    if (message.kind === 'cameras') this.#hearAll(message.cameras)
    if (message.kind === 'ids') this.#hearIds(message.ids)
    if (message.kind === 'camera') this.#report(message.camera.id, message.camera.values)
    if (message.kind === 'removed') this.#unseen(message.camera)
    if (message.kind === 'event') this.#hearEvent(message.camera, message.event)
    if (message.kind === 'claim') this.#hearClaim(message.camera, message.claim)
    if (message.kind === 'output') this.#reportOutput(message.output)
    if (message.kind !== 'alert') return
    this.#context.report({ deviceId: this.#device.id }, message.values)
    if (message.camera !== null) this.#report(message.camera, message.values)
  }

  #hearAll(cameras: readonly SaidCamera[]): void {
    this.#context.online(true)
    for (const { id, values } of cameras) this.#report(id, values)
    this.#hearIds(cameras.map(({ id }) => id))
  }

  #hearIds(ids: readonly string[]): void {
    const seen = new Set(ids)
    for (const { camera } of this.#addresses()) if (!seen.has(camera)) this.#unseen(camera)
  }

  /** A camera that the recorder does not have, or not for this token: the two cannot be told apart. */
  #unseen(camera: string): void {
    const error = `the recorder shows no camera ${camera} to this token: look at the address, and at the account's cameras`
    for (const [key] of this.#zones)
      if (readRecorderAddress(key)?.camera === camera) this.#report(key, { state: 'unknown', error })
  }

  #hearEvent(camera: string, { group, id, isLasting, phase, values }: SaidEvent): void {
    const open = this.#openOf(camera, group)
    if (phase === 'end') open.delete(id)
    if (phase === 'begin' && isLasting) {
      for (const oldest of [...open].slice(0, Math.max(0, open.size + 1 - MOST_OPEN))) open.delete(oldest)
      open.add(id)
    }
    const began = phase === 'begin' ? { ...values, [`${group}_at`]: values.event_at ?? null } : {}
    this.#report(camera, { ...began, [group]: open.size > 0 })
  }

  #openOf(camera: string, group: EventGroup): Set<string> {
    const key = `${group}/${camera}`
    // Cameras without a zone interest nobody, and would be kept for nothing.
    const open = this.#open.get(key) ?? new Set()
    if (this.#zones.has(camera)) this.#open.set(key, open)
    return open
  }

  #hearClaim(camera: string, { kind, phase, values }: SaidClaim): void {
    const began = phase === 'end' ? {} : { ...values, [`camera_${kind}_at`]: values.camera_event_at ?? null }
    this.#report(camera, phase === 'pulse' ? began : { ...began, [`camera_${kind}`]: phase === 'begin' })
  }

  #reportOutput({ camera, id, on, until }: SaidOutput): void {
    const key = keyOf({ camera, output: id })
    if (!this.#zones.has(key)) return
    this.#ends.get(key)?.cancel()
    this.#report(
      key,
      zonePatch(
        [
          ['on', on],
          ['until', until],
          ['error', null],
        ],
        { hasState: true },
      ),
    )
    const { clock } = this.#context
    const leftMs = until === null ? Number.POSITIVE_INFINITY : until - clock.epochMs()
    if (!on || leftMs > LONGEST_PULSE_MS) return
    const ended = () =>
      this.#report(
        key,
        zonePatch(
          [
            ['on', false],
            ['until', null],
          ],
          { hasState: true },
        ),
      )
    this.#ends.set(key, clock.after(Math.max(0, leftMs), ended))
  }

  #report(key: string, patch: Readonly<Record<string, Json>>): void {
    for (const { id } of this.#zones.get(key) ?? []) this.#context.report({ zoneId: id }, patch)
  }

  #addresses(): RecorderAddress[] {
    return [...this.#zones.keys()].flatMap((key) => readRecorderAddress(key) ?? [])
  }

  /** @throws Fault `device_refused` */
  #requireDone({ body, status }: DeviceAnswer): void {
    if (status >= 200 && status < 300) return
    if (status === 401)
      throw new Fault(
        'device_refused',
        'the recorder takes no token from here: make one there, for an account that sees the cameras, and put it into api_key of the device',
      )
    const sentence = readRecorderRefusal(body)
    throw new Fault(
      'device_refused',
      sentence === undefined ? `the recorder answers ${status}` : `the recorder says: ${sentence}`,
    )
  }
}

function keyOf({ camera, output }: RecorderAddress): string {
  return output === null ? camera : `${camera}/${output}`
}
