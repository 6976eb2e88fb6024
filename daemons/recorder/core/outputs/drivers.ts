/** The ways to switch outputs of cameras, behind one: each output goes by the one that found it. */
import type { CameraOutput } from '../cameras/book.ts'
import type { OutputDriver } from './onvif-driver.ts'

/** The first says whether the camera is reached at all; what another one cannot do is a note. */
export function joinDrivers(drivers: Readonly<Record<CameraOutput['driver'], OutputDriver>>): OutputDriver {
  return {
    async find(camera) {
      const relays = await drivers.onvif.find(camera)
      const own = await drivers.dahua.find(camera).catch(() => ({ list: [], notes: null }))
      const notes = [relays.notes, own.notes].filter((note) => note !== null)
      return { list: [...relays.list, ...own.list], notes: notes.join(' ') || null }
    },
    async set(camera, id, isOn) {
      const output = camera.outputs?.list.find((one) => one.id === id)
      await drivers[output?.driver ?? 'onvif'].set(camera, id, isOn)
    },
  }
}
