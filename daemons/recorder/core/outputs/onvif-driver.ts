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
      const own = await session.ask(device, getRelayOutputs).catch(noneIfUnable)
      const tokens = own && own.length > 0 ? own : await apart(session, device)
      if (!tokens) return { list: [], notes: 'The camera does not tell of relays over ONVIF.' }
      const notes = tokens.length === 0 ? 'The camera says that it has no relays.' : null
      return { list: tokens.map(outputOf), notes }
    },
    async set(camera, output, isOn) {
      const { device, session } = await opened(camera)
      const operation = setRelayOutputState(output, isOn)
      const isTaken = await session.ask(device, operation).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Fault && error.code === 'onvif_unsupported') return false
          throw error
        },
      )
      if (isTaken) return
      const address = await serviceAddress(session, device, SERVICE)
      if (address === undefined) throw new Fault('onvif_unsupported', 'The camera switches no relays over ONVIF.')
      await session.ask(address, operation)
    },
  }
}

/** Newer cameras have a service of their own for it. */
async function apart(session: OnvifSession, device: string): Promise<string[] | undefined> {
  const address = await serviceAddress(session, device, SERVICE)
  return address === undefined ? undefined : await session.ask(address, getRelayOutputs).catch(noneIfUnable)
}

function outputOf(token: string, at: number): CameraOutput {
  const kind = /light|lamp|\bled\b/i.test(token)
    ? 'light'
    : /siren|horn|speaker|buzzer/i.test(token)
      ? 'siren'
      : 'relay'
  return { id: token, kind, name: kind === 'relay' ? `Relay ${at + 1}` : token, driver: 'onvif' }
}
