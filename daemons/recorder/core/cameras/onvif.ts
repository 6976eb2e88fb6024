/** How cameras are asked over ONVIF: signed in, and at which addresses their services are. */
import { Fault } from '#kit/pure/fault.ts'
import {
  atHost,
  getCapabilityAddress,
  getMediaCapability,
  getMediaServices,
  getServiceAddress,
  type MediaService,
  type OnvifOperation,
} from '../../wire/onvif.ts'

/** What a camera is signed in to with. */
export interface CameraLogin {
  username: string
  password: string
}

/** Asks one camera, signed in. */
export interface OnvifSession {
  /**
   * @param address of the service
   * @param signal gives the question up
   * @throws Fault `camera_unreachable`, `camera_refused`, `onvif_broken`, `onvif_failed`, `onvif_unsupported`, `bad_target`
   */
  ask<Answer>(address: string, operation: OnvifOperation<Answer>, signal?: AbortSignal): Promise<Answer>
}

/** Speaks to cameras. */
export interface OnvifClient {
  /**
   * Asks the camera for its clock first: it refuses what is not signed with its own time.
   * @param service address of its device service
   */
  open(service: string, login: CameraLogin): Promise<OnvifSession>
}

/** What is kept of a camera that was adopted: with the login of its streams it is asked again. */
export interface OnvifLink {
  /** Address of its device service. */
  readonly service: string
  /** Names the profile that is recorded. */
  readonly recordToken: string
  /** Names the one that is watched; null if it is the same. */
  readonly watchToken: string | null
  /** Pictures per second as it is set in the camera, for streams that do not say it; null if it is not told. */
  readonly fps: number | null
  /** Whether its streams were signed in to without Basic, and are so from then on. Links of before lack it. */
  readonly isHashed?: boolean | undefined
}

/** The login of a camera that was added: without one it is empty. */
export function loginOf({ password, username }: { username: string | null; password: string | null }): CameraLogin {
  return { username: username ?? '', password: password ?? '' }
}

/** How a service is called: in the list of services, and by cameras that are older than it. */
export interface ServiceName {
  namespace: string
  /** Below Capabilities. */
  capability: readonly string[]
}

/**
 * @param device address of its device service
 * @returns the address of a service at the host of the device; undefined where the camera has none
 * @throws Fault, as `OnvifSession`
 */
export async function serviceAddress(
  session: OnvifSession,
  device: string,
  { capability, namespace }: ServiceName,
): Promise<string | undefined> {
  const said =
    (await session.ask(device, getServiceAddress(namespace)).catch(noneIfUnable)) ??
    (await session.ask(device, getCapabilityAddress(...capability)).catch(noneIfUnable))
  return said === undefined ? undefined : atHost(said, new URL(device).hostname)
}

/** @returns the services of media, the newer one first, as the camera says them @throws Fault, as `OnvifSession` */
export async function mediaServices(session: OnvifSession, device: string): Promise<MediaService[]> {
  const services = (await session.ask(device, getMediaServices).catch(noneIfUnable)) ?? []
  return services.length > 0 ? services : await session.ask(device, getMediaCapability)
}

/** Cameras lack operations, and say so in many ways: to be caught where another one is tried then. */
export function noneIfUnable(error: unknown): undefined {
  if (error instanceof Fault && (error.code === 'onvif_unsupported' || error.code === 'onvif_failed')) return undefined
  throw error
}
