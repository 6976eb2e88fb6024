/** Signs in to a camera over ONVIF, and chooses which of its streams is recorded and which is watched. Changes nothing in it. */
import type { Clock } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { atHost, getDeviceInformation, getProfiles, getStreamUri, type MediaProfile } from '../../wire/onvif.ts'
import type { StreamOpener } from '../ports.ts'
import {
  type CameraLogin,
  mediaServices,
  noneIfUnable,
  type OnvifClient,
  type OnvifLink,
  type OnvifSession,
} from './onvif.ts'

/** What a camera can be recorded and watched by. */
export interface Adoptable {
  manufacturer: string
  model: string
  url: string
  subUrl: string | null
  link: OnvifLink
}

interface AdopterParts {
  clock: Clock
  onvif: OnvifClient
  opener: StreamOpener
  limits: AdoptLimits
}

/** Bounds, by the names of their settings. */
interface AdoptLimits {
  /** How long a stream may take until its first packet. */
  answerMs: number
  /** Streams that are tried until one plays. */
  tries: number
}

/** Tells how a camera can be recorded. @throws Fault, as `OnvifSession`, and as a stream that does not play */
export type Adopter = (service: string, login: CameraLogin) => Promise<Adoptable>

export function createAdopter({ clock, limits, onvif, opener }: AdopterParts): Adopter {
  /** @throws Fault if it does not play */
  async function requirePlaying(url: string, login: CameraLogin): Promise<void> {
    const abort = new AbortController()
    let isPlaying = false
    const timer = clock.after(limits.answerMs, () => abort.abort())
    const listener = {
      onOpened() {},
      onPacket() {
        isPlaying = true
        abort.abort()
      },
      onReport() {},
    }
    // Any device can answer a scan, and `adopt-all` offers the same password to all that do.
    const ending = await opener.play({ url, ...login, isHashed: true }, listener, abort.signal)
    timer.cancel()
    if (isPlaying) return
    const silent = `The stream sends nothing within ${durationText(limits.answerMs)}.`
    throw faultOf(ending ?? new Fault('camera_silent', silent), 'camera_ended', 'The camera ended the session.')
  }

  return async (service, login) => {
    const session = await onvif.open(service, login)
    const { hostname } = new URL(service)
    const about = await session.ask(service, getDeviceInformation)
    const { media, profiles } = await profilesOf(session, service)

    const urlOf = async ({ token }: MediaProfile): Promise<string> => {
      const said = await session.ask(media.address, getStreamUri(media.version, token))
      return atHost(said, hostname)
    }
    /** The first of them that plays, and not at the address of another. */
    const playing = async (wanted: readonly MediaProfile[], other?: string) => {
      let reason: unknown
      for (const profile of wanted.slice(0, limits.tries)) {
        try {
          const url = await urlOf(profile)
          if (url === other) continue
          await requirePlaying(url, login)
          return { profile, url }
        } catch (error) {
          // Each further try with a wrong password brings the camera nearer to locking the account.
          if (error instanceof Fault && error.code === 'camera_refused') throw error
          reason ??= error
        }
      }
      return { reason }
    }

    const recorded = await playing(byPixels(profiles))
    if (!recorded.profile) throw recorded.reason
    const { fps, token } = recorded.profile
    const watched = await playing(smallerThan(recorded.profile, profiles), recorded.url)
    return {
      ...about,
      url: recorded.url,
      subUrl: watched.url ?? null,
      link: {
        ...{ service, recordToken: token, watchToken: watched.profile?.token ?? null, fps: fps ?? null },
        isHashed: true,
      },
    }
  }
}

/** Encodings that may be recorded; whether one is, its stream tells. */
const RECORDABLE: ReadonlySet<string> = new Set(['H264', 'H265'])

/** The service that tells of profiles, and those that may be recorded. */
async function profilesOf(session: OnvifSession, service: string) {
  const host = new URL(service).hostname
  let seen: MediaProfile[] = []
  for (const { address, version } of await mediaServices(session, service)) {
    const media = { version, address: atHost(address, host) }
    const profiles = (await session.ask(media.address, getProfiles(version)).catch(noneIfUnable)) ?? []
    seen = seen.length > 0 ? seen : profiles
    const recordable = profiles.filter(({ encoding }) => RECORDABLE.has(encoding))
    if (recordable.length > 0) return { media, profiles: recordable }
  }
  const offered = [...new Set(seen.map(({ encoding }) => encoding))].join(', ')
  throw new Fault(
    'camera_unsupported',
    offered === ''
      ? 'The camera tells of no video over ONVIF. Look at its video settings, or add it by its RTSP address.'
      : `The camera sends ${offered} alone; H.264 and H.265 are recorded. Set one of them in the camera.`,
  )
}

const pixelsOf = ({ height, width }: MediaProfile): number => width * height

/** Most pixels first, then most pictures. */
function byPixels(profiles: readonly MediaProfile[]): MediaProfile[] {
  return profiles.toSorted((a, b) => pixelsOf(b) - pixelsOf(a) || (b.fps ?? 0) - (a.fps ?? 0))
}

/** Those with fewer pixels, the smallest first; H.264 alone, which every browser plays. */
function smallerThan(recorded: MediaProfile, profiles: readonly MediaProfile[]): MediaProfile[] {
  const smaller = profiles.filter((one) => one.encoding === 'H264' && pixelsOf(one) < pixelsOf(recorded))
  return byPixels(smaller).reverse()
}
