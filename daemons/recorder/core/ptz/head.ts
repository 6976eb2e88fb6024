/** The part of a camera that turns, spoken to over ONVIF: what it can, and commands in the units of its own. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { atHost } from '../../wire/onvif.ts'
import {
  absoluteMove,
  continuousMove,
  FIELD_OF_VIEW,
  getPresets,
  getPtzNodes,
  getPtzOptions,
  getPtzProfiles,
  getPtzStatus,
  gotoPreset,
  type PanTiltSpace,
  type Preset,
  PTZ,
  type PtzNode,
  type PtzOptions,
  type PtzProfile,
  type PtzSpaces,
  type PtzStatus,
  type Range,
  relativeMove,
  setPreset,
  stopMove,
  type ZoomSpace,
} from '../../wire/onvif-ptz.ts'
import type { CameraRecord } from '../cameras/book.ts'
import {
  loginOf,
  mediaServices,
  noneIfUnable,
  type OnvifClient,
  type OnvifLink,
  type OnvifSession,
  serviceAddress,
} from '../cameras/onvif.ts'
import { bestSpace, clampTo, type RawPosition, type Scale, scaleOf } from './geometry.ts'

/** What a camera can, as it says itself. */
export interface PtzFacts {
  /** Of the service of PTZ. */
  address: string
  profile: string
  /** The best space to be sent to a place in, and its units; undefined: it cannot be. */
  absolute: Scale | undefined
  /** To go by a share of what it sees. */
  byView: PanTiltSpace | undefined
  relativeZoom: ZoomSpace | undefined
  continuous: PanTiltSpace | undefined
  continuousZoom: ZoomSpace | undefined
  /** Those in which positions may be told. */
  positions: readonly PanTiltSpace[]
  /** The one of positions that name none. */
  usual: string | undefined
  mostPresets: number
  timeoutMs: Range | undefined
}

/** How fast, as shares of the fastest, -1..1: to the right, up, and in. */
export interface Speed {
  readonly pan: number
  readonly tilt: number
  readonly zoom: number
}

/** Each call throws Fault as `OnvifSession` does. */
export interface Head {
  facts: PtzFacts
  /** @param timeoutMs after which the camera stops by itself, as near as it takes it */
  move(speed: Speed, timeoutMs: number): Promise<void>
  stop(): Promise<void>
  /** @param scale of the space that it goes in */
  goTo(to: RawPosition, scale: Scale): Promise<void>
  /** By a share of what it sees, -1..1: 1 is the edge; zoom by a share of all it zooms. */
  goBy(share: { x: number; y: number; zoom: number }): Promise<void>
  presets(): Promise<Preset[]>
  recall(token: string): Promise<void>
  /** @returns the token */
  save(name: string): Promise<string>
  /** Where it looks, in units of its best absolute space; undefined where it does not say. */
  look(): Promise<{ position: RawPosition | undefined; isMoving: boolean | undefined }>
}

interface HeadsParts {
  clock: Clock
  onvif: OnvifClient
  /** Key `ptz.presets`. */
  mostPresets: number
  /** How long what a camera said of itself is believed; key `ptz.facts_s`. */
  factsMs: number
}

export interface Heads {
  /** @throws Fault `no_onvif`, `no_ptz`, and what the camera did */
  of(record: CameraRecord): Promise<Head>
  /** Cameras that are gone are forgotten. */
  keep(ids: ReadonlySet<string>): void
}

export function createHeads(parts: HeadsParts): Heads {
  const known = new Map<string, { key: string; untilMs: number; head: Promise<Head> }>()
  return {
    async of(record) {
      const { id, password, username } = record
      const { recordToken, service } = requireOnvif(record)
      const key = JSON.stringify([service, recordToken, username, password])
      const present = known.get(id)
      const nowMs = parts.clock.monotonicMs()
      if (present?.key === key && nowMs < present.untilMs) return await present.head
      const made = { key, untilMs: nowMs + parts.factsMs, head: openHead(parts, record) }
      known.set(id, made)
      try {
        return await made.head
      } catch (error) {
        if (known.get(id) === made) known.delete(id)
        throw error
      }
    },
    keep(ids) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
    },
  }
}

/** @throws Fault `no_onvif` */
function requireOnvif({ name, onvif }: CameraRecord): OnvifLink {
  if (onvif) return onvif
  throw new Fault('no_onvif', `${name} was added by the address of its stream: it cannot be turned. Add it over ONVIF.`)
}

async function openHead({ mostPresets, onvif }: HeadsParts, record: CameraRecord): Promise<Head> {
  const { service } = requireOnvif(record)
  const login = loginOf(record)
  let session = await onvif.open(service, login)
  const facts = await factsOf(session, record)

  /** A camera whose clock was set meanwhile refuses what is signed in its old time. */
  async function ask<Answer>(of: Parameters<typeof session.ask<Answer>>[1]): Promise<Answer> {
    try {
      return await session.ask(facts.address, of)
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'camera_refused') throw error
      session = await onvif.open(service, login)
      return await session.ask(facts.address, of)
    }
  }
  const { profile } = facts
  return {
    facts,
    async move(speed, timeoutMs) {
      const vector = { panTilt: speedOf(facts.continuous, speed), zoom: zoomSpeedOf(facts.continuousZoom, speed) }
      if (!vector.panTilt && !vector.zoom) throw new Fault('no_ptz', `${record.name} does not turn continuously.`)
      await ask(continuousMove(profile, vector, facts.timeoutMs ? clampTo(timeoutMs, facts.timeoutMs) : timeoutMs))
    },
    stop: () => ask(stopMove(profile)),
    goTo({ pan, tilt, zoom }, scale) {
      const { uri, zoomUri } = scale
      const zoomed = zoom === undefined || zoomUri === undefined ? undefined : { uri: zoomUri, zoom }
      return ask(absoluteMove(profile, { panTilt: { uri, pan, tilt }, zoom: zoomed }))
    },
    goBy({ x, y, zoom }) {
      const { byView, relativeZoom } = facts
      const panTilt = byView && { uri: byView.uri, pan: shareOf(byView.pan, x), tilt: shareOf(byView.tilt, y) }
      const zoomed =
        relativeZoom && zoom !== 0 ? { uri: relativeZoom.uri, zoom: shareOf(relativeZoom.zoom, zoom) } : undefined
      return ask(relativeMove(profile, { panTilt, zoom: zoomed }))
    },
    presets: () => ask(getPresets(profile, mostPresets)),
    recall: (token) => ask(gotoPreset(profile, token)),
    save: (name) => ask(setPreset(profile, name)),
    async look() {
      // Many cameras that turn do not know where they look, and say so by a fault.
      const status = await ask(getPtzStatus(profile)).catch(noneIfUnable)
      return { position: status && positionOf(status, facts), isMoving: status?.isMoving }
    },
  }
}

/** A share -1..1 of a range around 0, or around its middle where it lies on one side. */
function shareOf({ max, min }: Range, share: number): number {
  if (min < 0 && max > 0) return share < 0 ? -share * min : share * max
  return (min + max) / 2 + (share * (max - min)) / 2
}

function speedOf(space: PanTiltSpace | undefined, { pan, tilt }: Speed) {
  return space && { uri: space.uri, pan: shareOf(space.pan, pan), tilt: shareOf(space.tilt, tilt) }
}

function zoomSpeedOf(space: ZoomSpace | undefined, { zoom }: Speed) {
  return space && { uri: space.uri, zoom: shareOf(space.zoom, zoom) }
}

/** In units of the best space, from whichever it is told in. */
function positionOf({ panTilt, zoom }: PtzStatus, facts: PtzFacts): RawPosition | undefined {
  const { absolute, positions, usual } = facts
  if (!panTilt || !absolute) return undefined
  const uri = panTilt.uri ?? usual ?? absolute.uri
  const [told, best] = [uri, absolute.uri].map((name) => positions.find((space) => space.uri === name))
  if (!told || !best) return { ...panTilt, zoom }
  return { pan: between(panTilt.pan, told.pan, best.pan), tilt: between(panTilt.tilt, told.tilt, best.tilt), zoom }
}

function between(value: number, from: Range, to: Range): number {
  if (from === to) return value
  return to.min + ((value - from.min) * (to.max - to.min)) / (from.max - from.min)
}

const SERVICE = { namespace: PTZ, capability: ['PTZ'] }

async function factsOf(session: OnvifSession, record: CameraRecord): Promise<PtzFacts> {
  const { recordToken, service } = requireOnvif(record)
  const address = await serviceAddress(session, service, SERVICE)
  if (address === undefined) throw new Fault('no_ptz', `${record.name} says that it does not turn.`)
  const profiles = await profilesOf(session, service)
  const profile = profiles.find(({ token }) => token === recordToken) ?? profiles[0]
  if (!profile)
    throw new Fault('no_ptz', `No profile of ${record.name} turns. Add PTZ to the recorded one in the camera.`)
  const nodes = (await session.ask(address, getPtzNodes).catch(noneIfUnable)) ?? []
  const options = await session.ask(address, getPtzOptions(profile.configuration)).catch(noneIfUnable)
  return chosen(
    address,
    profile,
    nodes.find(({ token }) => token === profile.node),
    options,
  )
}

function chosen(
  address: string,
  profile: PtzProfile,
  node: PtzNode | undefined,
  options: PtzOptions | undefined,
): PtzFacts {
  // What a configuration allows may be less than what the node can.
  const spaces = (name: keyof PtzSpaces) =>
    (options?.spaces[name].length ? options.spaces[name] : (node?.spaces[name] ?? [])) as PanTiltSpace[] & ZoomSpace[]
  const absolute = bestSpace(spaces('absolute'))
  const [absoluteZoom] = spaces('absoluteZoom')
  const limits = profile.limits.find(({ uri }) => uri === absolute?.uri)
  const zoomLimits = profile.zoomLimits.find(({ uri }) => uri === absoluteZoom?.uri)
  return {
    ...{ address, profile: profile.token, usual: profile.usual },
    absolute:
      absolute &&
      scaleOf(
        absolute,
        { pan: within(absolute.pan, limits?.pan), tilt: within(absolute.tilt, limits?.tilt) },
        absoluteZoom && { uri: absoluteZoom.uri, zoom: within(absoluteZoom.zoom, zoomLimits?.zoom) },
      ),
    byView: spaces('relative').find(({ uri }) => uri === FIELD_OF_VIEW),
    relativeZoom: spaces('relativeZoom')[0],
    continuous: spaces('continuous')[0],
    continuousZoom: spaces('continuousZoom')[0],
    positions: spaces('absolute'),
    mostPresets: node?.mostPresets ?? 0,
    timeoutMs: options?.timeoutMs,
  }
}

/** What is within both; the first alone where nothing is. */
function within(range: Range, limit: Range | undefined): Range {
  if (!limit) return range
  const both = { min: Math.max(range.min, limit.min), max: Math.min(range.max, limit.max) }
  return both.min < both.max ? both : range
}

/** The profiles that turn, of whichever service of media tells of some: the newer one knows more of video, and not always of PTZ. */
async function profilesOf(session: OnvifSession, service: string): Promise<PtzProfile[]> {
  const host = new URL(service).hostname
  for (const { address, version } of await mediaServices(session, service)) {
    const found = await session.ask(atHost(address, host), getPtzProfiles(version)).catch(noneIfUnable)
    if (found && found.length > 0) return found
  }
  return []
}
