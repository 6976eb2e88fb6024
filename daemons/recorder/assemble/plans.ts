/** Assembles plans of the site: what is saved of them, their images, and cameras that turn by them. */

import type { Route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import { openPictureFolder, type PictureFolder } from '#kit/store/picture-folder.ts'
import type { Callers } from '../api/callers.ts'
import { planRoutes } from '../api/plan-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraBook, CameraRecord } from '../core/cameras/book.ts'
import type { PlanAiming } from '../core/plans/aiming.ts'
import { createSitePlans, type PlanChange, type SitePlans } from '../core/plans/site-plans.ts'
import { openPlanFile } from '../io/plan-files.ts'
import { newId } from '../io/state-files.ts'

type Context = AssembleContext<RecorderConfig>

/** Images that no plan shows yet, or shows no more, until they are swept. */
const SPARE_IMAGES = 2

/** Plans of the site, with the folder of their images. */
export interface Plans {
  plans: SitePlans
  pictures: PictureFolder
  /** These cameras are there now. */
  camerasAre(records: readonly CameraRecord[]): void
}

/** @param onChange is told of each change */
export async function openPlans(context: Context, onChange: (change: PlanChange) => void): Promise<Plans> {
  const { config, log, stateFolder } = context
  const { image_bytes: imageBytes, max, total_bytes: totalBytes } = config.plans
  const { record, save } = await openPlanFile(stateFolder, log)
  let shown = record.plans
  const pictures = openPictureFolder({
    ...{ stateFolder, most: max + SPARE_IMAGES },
    inUse: () => new Set(shown.map(({ picture }) => picture)),
    full: (count) => new Fault('too_many_plans', `${count} images of plans are kept; plans.max allows no more.`),
  })
  const plans = createSitePlans({
    ...{ record, newId, pictures, onChange, limits: { plans: max, imageBytes, totalBytes } },
    async save(next) {
      await save(next)
      shown = next.plans
    },
  })
  // A power cut may have left half an upload. A fault here must not keep the recorder from recording.
  await pictures.sweep().catch((fault) => log.warning('images that no plan shows could not be removed', { fault }))
  return {
    ...{ plans, pictures },
    camerasAre(records) {
      const ids = records.map(({ id }) => id)
      plans.camerasAre(ids).catch((fault) => log.warning('where a camera was that is gone is still saved', { fault }))
    },
  }
}

interface PlanParts {
  callers: Callers
  cameras: CameraBook
  plans: Plans
  recorder: Recorder
  aiming: PlanAiming
}

export function planRoutesOf(
  context: Context,
  { aiming, callers, cameras, plans: { pictures, plans }, recorder }: PlanParts,
): Route[] {
  const { image_bytes: imageBytes, upload_ms: uploadMs } = context.config.plans
  return planRoutes({ callers, cameras, plans, aiming, pictures, recorder, limits: { imageBytes, uploadMs } })
}
