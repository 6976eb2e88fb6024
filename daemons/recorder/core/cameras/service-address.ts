/** Finds a service of a camera, at the host that it answers from. */
import { Fault } from '#kit/pure/fault.ts'
import { atHost } from '../../wire/onvif.ts'
import { getCapabilityAddress, getServiceAddress } from '../../wire/onvif-services.ts'
import type { OnvifSession } from './adopt.ts'

/** How a service is called: in the list of services, and by cameras that are older than it. */
export interface ServiceName {
  namespace: string
  capability: readonly string[]
}

/**
 * @param device address of its device service
 * @returns undefined where the camera has none
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

/** Cameras lack operations, and say so in many ways. */
export function noneIfUnable(error: unknown): undefined {
  if (error instanceof Fault && (error.code === 'onvif_unsupported' || error.code === 'onvif_failed')) return undefined
  throw error
}
