/** Puts together updates by a release file. */
import type { Route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import { updateRoutes } from '../api/update-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { Licence } from '../core/licence/licence.ts'
import { Uploads } from '../core/updating/uploads.ts'
import { createReleaseDesk } from '../io/release-upload.ts'

interface UpdateNeeds {
  licence: Licence | undefined
  recorder: Recorder
}

export function updateRoutesOf(context: AssembleContext<RecorderConfig>, { licence, recorder }: UpdateNeeds): Route[] {
  const { clock, config, parts, stateFolder, version } = context
  const { answer_ms: answerMs, socket, stall_ms, told_file, upload_bytes: bytes, upload_ms } = config.updating
  const desk = createReleaseDesk({
    ...{ clock, stateFolder, programs: import.meta.dirname },
    limits: { socket, toldFile: told_file, answerMs },
  })
  const uploads = new Uploads({ clock, desk, licence, limits: { uploadBytes: bytes, answerMs } })
  parts.add({ name: 'updates', start: () => uploads.start(), stop: () => {} })
  return updateRoutes({ uploads, recorder, version, limits: { bytes, stallMs: stall_ms, uploadMs: upload_ms } })
}
