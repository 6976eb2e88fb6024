/** Routes for the whole board: identify it in a rack, restart, reset, update its firmware. */
import { Type } from 'typebox'
import { fieldsFault } from '#kit/http/check.ts'
import { Reply, type Route, route, type UploadBounds, uploadRoute } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { UpdateOutcome } from '#kit/release/running-image.ts'
import type { Ota } from '../core/machine/firmware.ts'
import type { Rebooter } from '../core/machine/ports.ts'
import type { SettingsBook } from '../core/settings/book.ts'
import type { Identify } from '../core/status.ts'
import { otaAnswer, otaReadyAnswer } from './answers.ts'

/** Finding the board in a rack. */
export function identifyRoutes({ identify }: { identify: Identify }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/identify',
      who: 'admin',
      summary: 'Blinks the lamp, where there is one, and shows a banner for a while',
      body: Type.Object(
        { on: Type.Boolean({ default: true, description: '0 ends it' }) },
        { additionalProperties: false },
      ),
      reply: Type.Object({ identify_until: Type.Union([Type.Integer(), Type.Null()]) }),
      handle(ask) {
        identify.set(ask.body.on)
        return { identify_until: identify.until() }
      },
    }),
  ]
}

// Reboot and factory reset.

/** Dependencies. */
interface RestartParts {
  book: SettingsBook
  rebooter: Rebooter
  recorder: Recorder
}

const strict = { additionalProperties: false }
const reply = Type.Object({
  reboots: Type.Literal(true),
  about_s: Type.Integer({ description: 'seconds until it answers again, about' }),
})

export function restartRoutes({ book, rebooter, recorder }: RestartParts): Route[] {
  const answer = () => new Reply(202, { reboots: true, about_s: rebooter.aboutS })
  return [
    route({
      method: 'POST',
      path: '/api/reboot',
      who: 'admin',
      status: 202,
      summary: 'Restarts the board',
      body: Type.Object({}, strict),
      reply,
      async handle(ask) {
        await recorder.changed(ask, 'restart')
        await rebooter.reboot('reboot')
        return answer()
      },
    }),
    route({
      method: 'POST',
      path: '/api/factory_reset',
      who: 'admin',
      status: 202,
      summary: 'Forgets all settings and the password, then restarts; confirmed by the hostname',
      body: Type.Object(
        { hostname: Type.String({ maxLength: 63, description: 'the name of this board, as typed by who wants it' }) },
        strict,
      ),
      reply,
      async handle(ask) {
        const { hostname } = book.saved()
        if (ask.body.hostname.trim().toLowerCase() !== hostname)
          throw fieldsFault([{ field: 'hostname', message: `This board is called ${hostname}. Type that to go on.` }])
        await rebooter.reboot('factory_reset')
        await recorder.changed(ask, 'factory reset', hostname)
        return answer()
      },
    }),
  ]
}

// Firmware.

/** Dependencies. */
interface OtaRouteParts {
  ota: Ota
  /** What became of the last update; null if nothing is known of it. */
  lastOutcome(): Promise<UpdateOutcome | null>
  bounds: UploadBounds
  rebooter: Rebooter
  recorder: Recorder
}

export function otaRoutes({ ota, lastOutcome, bounds, rebooter, recorder }: OtaRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/ota',
      who: 'admin',
      reply: otaReadyAnswer,
      summary: 'Whether the board can take an image, what it lacks, and what became of the last one',
      async handle() {
        const [missing, last] = await Promise.all([ota.missing(), lastOutcome()])
        return { takes_images: missing === null, missing, last }
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
