/**
 * What a recorder says of its cameras, as a zone shows it.
 * @source interface document 3, part A; docs/recorder.md, Status feed
 */
import { flag, isObject, number, parsed, type Said, type SaidValue, text } from './said.ts'

export type RecorderValues = Readonly<Record<string, SaidValue>>

/** What a zone is: a camera, or one of its outputs. */
export interface RecorderAddress {
  camera: string
  output: string | null
}

/**
 * Reads `4f1c09aa` or `4f1c09aa/relay1`; ids of outputs may have slashes themselves.
 * @returns undefined if it names no camera
 * @source docs/controller.md, Drivers
 */
export function readRecorderAddress(address: string): RecorderAddress | undefined {
  const [, camera = '', output = null] = /^([^/]{1,64})(?:\/(.{1,64}))?$/s.exec(address.trim()) ?? []
  return camera === '' ? undefined : { camera, output }
}

/** A camera as the list has it. */
export interface SaidCamera {
  id: string
  values: RecorderValues
}

export interface SaidOutput {
  camera: string
  id: string
  on: boolean
  /** When it ends by itself, epoch ms. */
  until: number | null
}

export type RecorderMessage =
  /** All cameras that the account may see. */
  | { kind: 'cameras'; cameras: readonly SaidCamera[] }
  /** The same by their ids alone: how they are follows. */
  | { kind: 'ids'; ids: readonly string[] }
  | { kind: 'camera'; camera: SaidCamera }
  | { kind: 'removed'; camera: string }
  /** What the recorder has seen. */
  | { kind: 'event'; camera: string; event: SaidEvent }
  /** What the camera itself claims. */
  | { kind: 'claim'; camera: string; claim: SaidClaim }
  | { kind: 'output'; output: SaidOutput }
  /** A rule did something; null: at no camera. */
  | { kind: 'alert'; camera: string | null; values: RecorderValues }
  | { kind: 'other' }

export interface SaidEvent {
  id: string
  /** person, vehicle, animal or other. */
  group: EventGroup
  /** An event without a phase counts as `begin`, or as `end` if it has `ended_at`. */
  phase: 'begin' | 'end' | 'else'
  /** Whether an end follows. */
  isLasting: boolean
  values: RecorderValues
}

export interface SaidClaim {
  kind: ClaimKind
  phase: 'begin' | 'end' | 'pulse'
  values: RecorderValues
}

/** @source interface document 3, A, Event */
export const eventGroups = ['person', 'vehicle', 'animal', 'other'] as const
export type EventGroup = (typeof eventGroups)[number]

/** @source interface document 3, A, Camera event */
export const claimKinds = ['motion', 'line', 'intrusion', 'person', 'tamper', 'other'] as const
export type ClaimKind = (typeof claimKinds)[number]

/** @returns undefined for a malformed message, `other` for a kind that zones do not show @source interface document 3, A, Events 2 */
export function readRecorderMessage(bytes: Uint8Array): RecorderMessage | undefined {
  const said = parsed(bytes)
  if (!isObject(said) || typeof said.type !== 'string') return undefined
  return READERS.has(said.type) ? READERS.get(said.type)?.(said) : { kind: 'other' }
}

const READERS: ReadonlyMap<string, (said: Said) => RecorderMessage | undefined> = new Map<
  string,
  (said: Said) => RecorderMessage | undefined
>([
  ['hello', helloOf],
  [
    'camera-state',
    ({ camera }) => {
      const [one] = camerasOf([camera])
      return one && { kind: 'camera', camera: one }
    },
  ],
  ['camera-removed', ({ cameraId }) => (isId(cameraId) ? { kind: 'removed', camera: cameraId } : undefined)],
  ['event', (said) => eventOf(isObject(said.event) ? { ...said, ...said.event } : said)],
  ['camera-event', (said) => claimOf(isObject(said.event) ? { ...said, ...said.event } : said)],
  ['camera-output', outputMessageOf],
  ['alert', (said) => alertOf(isObject(said.alert) ? { ...said, ...said.alert } : said)],
])

/** The answer of `GET /api/cameras`. @returns undefined for any other body @source interface document 3, A, Camera */
export function readCameras(bytes: Uint8Array): readonly SaidCamera[] | undefined {
  const said = parsed(bytes)
  const list = isObject(said) ? said.cameras : said
  return Array.isArray(list) ? camerasOf(list) : undefined
}

/** The answer of `GET /api/cameras/{id}/outputs`. @source interface document 3, A, Deterrence outputs */
export function readOutputs(bytes: Uint8Array, camera: string): readonly SaidOutput[] {
  const said = parsed(bytes)
  const list: unknown[] = isObject(said) && Array.isArray(said.outputs) ? said.outputs : []
  return list.flatMap((one) => (isObject(one) ? (outputOf({ ...one, cameraId: camera }) ?? []) : []))
}

/** An output as it is answered when it was switched. @source interface document 3, A, Deterrence outputs */
export function readOutput(bytes: Uint8Array, camera: string): SaidOutput | undefined {
  const said = parsed(bytes)
  return isObject(said) ? outputOf({ ...said, cameraId: camera }) : undefined
}

/** @returns why the recorder did not do it, in its own words @source interface document 3, A, Errors */
export function readRecorderRefusal(bytes: Uint8Array): string | undefined {
  const said = parsed(bytes)
  return isObject(said) ? (text(said.message) ?? text(said.error) ?? undefined) : undefined
}

/** A recorder from before `hello=ids` tells the cameras themselves. */
function helloOf({ cameraIds, cameras }: Said): RecorderMessage | undefined {
  if (Array.isArray(cameraIds)) return { kind: 'ids', ids: cameraIds.filter(isId) }
  return Array.isArray(cameras) ? { kind: 'cameras', cameras: camerasOf(cameras) } : undefined
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 64
}

function camerasOf(list: readonly unknown[]): SaidCamera[] {
  return list.flatMap((one) => {
    if (!isObject(one) || !isId(one.id)) return []
    const { health, id, name } = one
    const { fault, state } = isObject(health) ? health : ({} as Said)
    const error = isObject(fault) ? text(fault.message) : null
    return [{ id, values: { camera: text(name), state: text(state), error } }]
  })
}

function eventOf({ cameraId, ended_at, group, phase, ...said }: Said): RecorderMessage | undefined {
  const camera = said.camera_id ?? cameraId
  const { id, label } = said
  if (!isId(camera) || !isId(id)) return undefined
  const isOver = phase === 'end' || (phase === undefined && typeof ended_at === 'number')
  const values = {
    event: text(label),
    event_at: number(said.started_at) ?? number(said.at),
    identity: text(isObject(said.identity) ? said.identity.name : said.identity),
    plate: text(said.plate_text),
  }
  const known = [group, label].find((one) => eventGroups.some((each) => each === one)) as EventGroup | undefined
  const isLasting = phase !== undefined
  const now = isOver ? 'end' : phase === undefined || phase === 'begin' ? 'begin' : 'else'
  return { kind: 'event', camera, event: { id, group: known ?? 'other', phase: now, isLasting, values } }
}

function claimOf({ cameraId, kind, phase, ...said }: Said): RecorderMessage | undefined {
  const camera = said.camera_id ?? cameraId
  const known = claimKinds.find((each) => each === kind)
  if (!isId(camera) || known === undefined) return undefined
  const values = { camera_event: known, camera_event_at: number(said.at), camera_event_text: text(said.summary) }
  return {
    kind: 'claim',
    camera,
    claim: { kind: known, phase: phase === 'begin' || phase === 'end' ? phase : 'pulse', values },
  }
}

function outputMessageOf(said: Said): RecorderMessage | undefined {
  const output = outputOf(said)
  return output && { kind: 'output', output }
}

function outputOf({ cameraId, id, on, until }: Said): SaidOutput | undefined {
  const isOn = flag(on)
  return isId(cameraId) && isId(id) && isOn !== null
    ? { camera: cameraId, id, on: isOn, until: number(until) }
    : undefined
}

function alertOf({ cameraId, ...said }: Said): RecorderMessage | undefined {
  const camera = said.camera_id ?? cameraId
  const at = number(said.at)
  if (at === null) return undefined
  return {
    kind: 'alert',
    camera: isId(camera) ? camera : null,
    values: { alert: text(said.rule) ?? text(said.name), alert_at: at },
  }
}
