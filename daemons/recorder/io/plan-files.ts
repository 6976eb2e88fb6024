/** What the disk knows of plans of the site: which there are, and what is on them. Their pictures lie in a folder beside. */
import { type Static, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'
import {
  type Calibration,
  type Placement,
  placementFields,
  pointList,
  readPoints,
  readSamples,
  sampleList,
} from '../core/plans/placement.ts'
import type { PlansRecord } from '../core/plans/site-plans.ts'

const VERSION = 1 as const

const strict = { additionalProperties: false }
const calibration = Type.Union([
  Type.Null(),
  Type.Object({ kind: Type.Literal('homography'), points: pointList, residualPx: Type.Number() }, strict),
  Type.Object(
    {
      ...{ kind: Type.Literal('ptz'), samples: sampleList, headingDeg: Type.Number() },
      ...{ height: Type.Union([Type.Number(), Type.Null()]), residualDeg: Type.Number() },
    },
    strict,
  ),
])
const plansFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    plans: Type.Array(
      Type.Object(
        {
          ...{ id: Type.String(), name: Type.String(), width: Type.Integer({ minimum: 1 }) },
          ...{ height: Type.Integer({ minimum: 1 }), picture: Type.String(), bytes: Type.Integer() },
        },
        strict,
      ),
    ),
    placements: Type.Record(Type.String(), Type.Object({ ...placementFields, calibration }, strict)),
  },
  strict,
)

type Saved = Static<typeof plansFile>

/** The saved plans, and saving them. @param folder the state folder */
export async function openPlanFile(folder: string, log: Log) {
  const initial = (): Saved => ({ version: VERSION, plans: [], placements: {} })
  const store = createStore({ folder, name: 'site-plans', log, check: createReader(plansFile), initial })
  const { placements, plans } = await store.load()
  const record: PlansRecord = {
    plans,
    placements: Object.fromEntries(
      Object.entries(placements).map(([camera, { calibration, ...placement }]): [string, Placement] => [
        camera,
        { ...placement, calibration: calibration && readCalibration(calibration) },
      ]),
    ),
  }
  // Lists that nobody changes in place.
  const save = (next: PlansRecord) => store.save({ version: VERSION, ...(next as Pick<Saved, 'plans' | 'placements'>) })
  return { record, save }
}

function readCalibration(saved: NonNullable<Static<typeof calibration>>): Calibration {
  return saved.kind === 'homography'
    ? { ...saved, points: readPoints(saved.points) }
    : { ...saved, samples: readSamples(saved.samples) }
}
