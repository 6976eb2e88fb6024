/** Outputs of cameras over ONVIF: relays. What hangs on one only its name tells, if anything does. */
import { Fault } from '#kit/pure/fault.ts'
import { DEVICE_IO, getRelayOutputs, setRelayOutputState } from '../../wire/onvif-outputs.ts'
import type { CameraOutput, CameraRecord } from '../cameras/book.ts'
import { loginOf, noneIfUnable, type OnvifClient, type OnvifSession, serviceAddress } from '../cameras/onvif.ts'

/** One way to switch outputs of cameras. */
export interface OutputDriver {
  /** Asks the camera now; `notes`: what could not be done. @throws Fault, as `OnvifSession`; `no_onvif` */
  find(camera: CameraRecord): Promise<{ list: CameraOutput[]; notes: string | null }>
  /** Resolves once the camera has taken it. @throws Fault, as `find` */
  set(camera: CameraRecord, output: string, isOn: boolean): Promise<void>
}

const SERVICE = { namespace: DEVICE_IO, capability: ['Extension', 'DeviceIO'] }

export function createOnvifOutputs(onvif: OnvifClient): OutputDriver {
  /** Where relays were switched last. A camera that is changed has another record, and is asked again. */
  const places = new WeakMap<CameraRecord, string>()

  /** @throws Fault `no_onvif`, and what the camera did */
  async function opened(camera: CameraRecord) {
    const { name, onvif: link } = camera
    if (!link)
      throw new Fault(
        'no_onvif',
        `${name} was added by the address of its stream: its outputs cannot be reached. Add it over ONVIF.`,
      )
    const session = await onvif.open(link.service, loginOf(camera))
    return { session, device: link.service }
  }

  return {
    async find(camera) {
      const { device, session } = await opened(camera)
      const found = await relaysOf(session, device)
      if (!found) return { list: [], notes: 'The camera does not tell of relays over ONVIF.' }
      const notes = found.tokens.length === 0 ? 'The camera says that it has no relays.' : null
      return { list: found.tokens.map(outputOf), notes }
    },
    async set(camera, output, isOn) {
      const { device, session } = await opened(camera)
      const address = places.get(camera) ?? (await placeOf(session, device, output))
      places.delete(camera)
      await session.ask(address, setRelayOutputState(output, isOn))
      places.set(camera, address)
    },
  }
}

/** Relays, and the service that tells of them. */
interface Relays {
  address: string
  tokens: string[]
}

/** Newer cameras have a service of their own for them. @returns undefined where neither tells of any */
async function relaysOf(session: OnvifSession, device: string): Promise<Relays | undefined> {
  const own = await session.ask(device, getRelayOutputs).catch(noneIfUnable)
  if (own && own.length > 0) return { address: device, tokens: own }
  const address = await serviceAddress(session, device, SERVICE)
  if (address === undefined) return undefined
  const tokens = await session.ask(address, getRelayOutputs).catch(noneIfUnable)
  return tokens && { address, tokens }
}

/**
 * The service that switches a relay is the one that tells of it: there are cameras whose other one answers that it did, and
 * does nothing.
 */
async function placeOf(session: OnvifSession, device: string, output: string): Promise<string> {
  const found = await relaysOf(session, device)
  if (found?.tokens.includes(output)) return found.address
  throw new Fault('onvif_failed', 'The camera does not tell of this relay any more. Look for its outputs again.')
}

function outputOf(token: string, at: number): CameraOutput {
  const kind = /light|lamp|\bled\b/i.test(token)
    ? 'light'
    : /siren|horn|speaker|buzzer/i.test(token)
      ? 'siren'
      : 'relay'
  return { id: token, kind, name: kind === 'relay' ? `Relay ${at + 1}` : token, driver: 'onvif' }
}
