/** The calls of the pages about plans of the site. */
import { call } from '#kit/web/call.ts'
import { cameraPath } from './api.ts'

/** An image of the site from above. */
export interface SitePlan {
  id: string
  name: string
  /** In pixels. */
  width: number
  height: number
}

/** A place in the picture, in fractions, and on the plan, in pixels. */
export interface PointPair {
  picture: readonly [u: number, v: number]
  plan: readonly [x: number, y: number]
}

/** Where a camera that turns stood, and what was then in the middle of its picture, in pixels of the plan. */
export interface AimSample {
  position: { pan: number; tilt: number; zoom: number }
  plan: readonly [x: number, y: number]
}

/** Where a camera is on a plan, in its pixels. */
export interface Placement {
  planId: string
  x: number
  y: number
  headingDeg: number
  hfovDeg: number
  rangePx: number
  calibration:
    | { kind: 'homography'; points: PointPair[]; residualPx: number }
    | { kind: 'ptz'; headingDeg: number; height: number | null; residualDeg: number; samples: AimSample[] }
    | null
}

interface Span {
  least: number
  most: number
}

/** Answer of GET /api/site-plans. */
export interface SitePlans {
  plans: SitePlan[]
  /** By id of the camera. */
  placements: Readonly<Record<string, Placement>>
  limits: {
    bytes: number
    pixels: number
    plans: number
    points: Span
    samples: Span
    placement: { headingDeg: Span; hfovDeg: Span; rangePx: Span }
  }
}

/** How well points fit. */
export interface PointFit {
  residualPx: number
  errorsPx: number[]
}

/** How well places fit that a camera was aimed at. */
export interface SampleFit {
  headingDeg: number
  height: number | null
  residualDeg: number
  errorsDeg: number[]
  /** Those that contradict most others. */
  leftOut: boolean[]
}

/** Where a camera that turns looks. */
export interface Looking {
  point: { x: number; y: number } | null
  bearingDeg: number
  hfovDeg: number
}

/** What became of aiming a camera. */
interface Aimed {
  clamped: boolean
  levelOnly: boolean
}

/** An image is sent over slow lines too, and a camera takes its time to turn. */
const IMAGE_MS = 70_000
const TURN_MS = 30_000

const planPath = (id: string): `/${string}` => `/api/site-plans/${encodeURIComponent(id)}`

/** @param version another one has the image fetched again */
export function planImagePath(id: string, version: number): string {
  return `${planPath(id)}/image?v=${version}`
}

/** Calls of the page of plans. */
export const planApi = {
  all: () => call<SitePlans>('GET /api/site-plans', undefined, { isPolled: true }),
  add: (name: string, image: Blob) =>
    call<SitePlan>(`POST /api/site-plans?name=${encodeURIComponent(name)}`, image, { answerMs: IMAGE_MS }),
  replaceImage: (id: string, image: Blob) => call<SitePlan>(`PUT ${planPath(id)}/image`, image, { answerMs: IMAGE_MS }),
  rename: (id: string, name: string) => call<SitePlan>(`PATCH ${planPath(id)}`, { name }),
  remove: (id: string) => call<unknown>(`DELETE ${planPath(id)}`),
  place: (camera: string, placement: Omit<Placement, 'calibration'> | null) =>
    call<unknown>(`PUT ${cameraPath(camera)}/plan`, { placement }),
  calibrate: (camera: string, points: readonly PointPair[]) =>
    call<{ fit: PointFit | null }>(`PUT ${cameraPath(camera)}/plan/points`, { points }),
  calibrateByAim: (camera: string, samples: readonly AimSample[]) =>
    call<{ fit: SampleFit | null }>(`PUT ${cameraPath(camera)}/plan/samples`, { samples }, { answerMs: TURN_MS }),
  looking: (camera: string) =>
    call<Looking>(`GET ${cameraPath(camera)}/plan/looking`, undefined, { isPolled: true, answerMs: TURN_MS }),
  aim: (camera: string, x: number, y: number) =>
    call<Aimed>(`POST ${cameraPath(camera)}/plan/aim`, { x, y }, { answerMs: TURN_MS }),
}
