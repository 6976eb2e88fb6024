/** Takes firmware images, and says whether it can. */
import { type Route, route, uploadRoute } from '#kit/http/route.ts'
import type { UploadBounds } from '#kit/http/upload.ts'
import type { Recorder } from '#kit/recorder.ts'
import type { Rebooter } from '../core/machine-ports.ts'
import type { Ota } from '../core/ota.ts'
import { otaAnswer, otaReadyAnswer } from './answers.ts'

/** What the route needs. */
export interface OtaRouteParts {
  ota: Ota
  bounds: UploadBounds
  rebooter: Rebooter
  recorder: Recorder
}

export function otaRoutes({ ota, bounds, rebooter, recorder }: OtaRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ota',
      who: 'admin',
      reply: otaReadyAnswer,
      summary: 'Whether the board can take an image, and what it lacks',
      async handle() {
        const missing = await ota.missing()
        return { takes_images: missing === null, missing }
      },
    }),
    uploadRoute({
      method: 'POST',
      path: '/api/ota',
      who: 'admin',
      reply: otaAnswer,
      summary: 'Installs a firmware image, the body as it is, and restarts',
      upload: bounds,
      async handle(ask) {
        const { version } = await ota.take(ask.body)
        await recorder.changed(ask, 'firmware installed', version)
        await rebooter.reboot('ota')
        return { installed: true, version, reboots: true, about_s: rebooter.aboutS }
      },
    }),
  ]
}
