/** Outputs of cameras by Dahua over their own HTTP interface: the white light, and the siren. */
import { Fault } from '#kit/pure/fault.ts'
import { controlPath, dahuaOutputs, isDahuaRealm, isTaken, readStatus, statusPath } from '../../wire/dahua.ts'
import type { CameraRecord } from '../cameras/book.ts'
import { type CameraLogin, loginOf } from '../cameras/onvif.ts'
import type { OutputDriver } from './onvif-driver.ts'

interface WebAnswer {
  status: number
  text: string
  /** Whether the login was sent. */
  isSigned: boolean
}

/** Gets what stands at an address of a camera, signed in by HTTP Digest where it wants that. */
export interface CameraWeb {
  /**
   * @param mayKnow by its realm, whether who asks for the login may have it
   * @throws Fault `camera_unreachable`, `onvif_broken`, `bad_target`
   */
  get(url: string, login: CameraLogin, mayKnow: (realm: string) => boolean): Promise<WebAnswer>
}

export function createDahuaOutputs(web: CameraWeb): OutputDriver {
  /** Of the same host and port as its ONVIF. */
  async function ask(camera: CameraRecord, path: string) {
    const { onvif } = camera
    if (!onvif) throw new Fault('no_onvif', `${camera.name} was added by the address of its stream. Add it over ONVIF.`)
    return await web.get(`${new URL(onvif.service).origin}${path}`, loginOf(camera), isDahuaRealm)
  }

  return {
    /** A camera by somebody else answers something else, of which nothing is said. */
    async find(camera) {
      const { isSigned, status, text } = await ask(camera, statusPath)
      if (status === 200)
        return {
          list: readStatus(text).map(({ id, kind, name }) => ({ id, kind, name, driver: 'dahua' })),
          notes: null,
        }
      const isRefused = status === 401 && isSigned
      return { list: [], notes: isRefused ? 'Its light and siren do not take the user of the camera (Dahua).' : null }
    },
    async set(camera, id, isOn) {
      const output = dahuaOutputs.find((one) => one.id === id)
      if (!output) throw new Fault('unknown_output', `${camera.name} has no output ${id}.`)
      const { status, text } = await ask(camera, controlPath(output, isOn))
      if (status === 401)
        throw new Fault(
          'camera_refused',
          'The camera does not take its user name and password for its light and siren.',
        )
      if (status !== 200 || !isTaken(text))
        throw new Fault(
          'output_refused',
          `The camera did not switch its ${output.name.toLowerCase()} (HTTP ${status}).`,
        )
    },
  }
}
