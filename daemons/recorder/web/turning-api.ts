/** The calls of the pages about cameras that turn by themselves, and about messages that cameras say. */
import { call } from '#kit/web/call.ts'
import type { Schedule } from './rules-api.ts'

interface PatrolBody {
  steps: { preset: string; dwellSeconds: number | string }[]
  enabled: boolean
  schedule: Schedule | null
  resumeAfterSeconds: number | string
}

/** A patrol, and what it does now; times in epoch ms. */
export interface Patrol {
  patrol: (Omit<PatrolBody, 'steps'> & { steps: { preset: string; presetName: string; dwellSeconds: number }[] }) | null
  status: {
    state: 'off' | 'waiting' | 'running' | 'paused' | 'held'
    until: number | null
    reason: string | null
    step: number | null
  }
}

interface FollowBody {
  enabled: boolean
  groups: string[]
  maxFollowSeconds: number | string
  returnPreset: string | null
  returnAfterSeconds: number | string
  resumeAfterSeconds: number | string
}

/** Why a follow ended. */
export type FollowEnd = 'lost' | 'time' | 'operator' | 'rule' | 'moved' | 'stopped' | 'failed'

/** Auto tracking, and what it does now; times in epoch ms. */
export interface Follow {
  follow: (FollowBody & { returnPresetName: string | null }) | null
  unavailable: string | null
  status: {
    state: 'off' | 'watching' | 'following' | 'paused'
    label: string | null
    since: number | null
    hops: number | null
    until: number | null
    lastEnded: { why: FollowEnd; label: string; at: number } | null
  }
}

/** One of GET /api/talk/messages. */
export interface TalkMessage {
  id: string
  name: string
  source: 'file' | 'speech'
  text: string | null
  seconds: number
  createdAt: number
}

const cameraPath = (id: string): `/${string}` => `/api/cameras/${encodeURIComponent(id)}`
const messagePath = (id: string): `/${string}` => `/api/talk/messages/${encodeURIComponent(id)}`

/** A camera is asked several times; a file may come over a slow line, and a text is read aloud before it is kept. */
const CAMERA_MS = 30_000
const ADDING_MS = 70_000
/** A training turns a camera for minutes. */
const TRAINING_MS = 600_000

/** Where a message is listened to. */
export const soundPath = (id: string): string => `${messagePath(id)}/sound.wav`

export const turningApi = {
  patrol: (id: string) => call<Patrol>(`GET ${cameraPath(id)}/ptz/patrol`, undefined, { isPolled: true }),
  setPatrol: (id: string, body: PatrolBody) =>
    call<Patrol>(`PUT ${cameraPath(id)}/ptz/patrol`, body, { answerMs: CAMERA_MS }),
  removePatrol: (id: string) => call<unknown>(`DELETE ${cameraPath(id)}/ptz/patrol`),
  hold: (id: string, what: 'pause' | 'resume') => call<Patrol>(`POST ${cameraPath(id)}/ptz/patrol/${what}`),
  follow: (id: string) =>
    call<Follow>(`GET ${cameraPath(id)}/ptz/follow`, undefined, { isPolled: true, answerMs: CAMERA_MS }),
  setFollow: (id: string, body: FollowBody) =>
    call<Follow>(`PUT ${cameraPath(id)}/ptz/follow`, body, { answerMs: CAMERA_MS }),
  removeFollow: (id: string) => call<unknown>(`DELETE ${cameraPath(id)}/ptz/follow`),
  train: (id: string) => call<unknown>(`POST ${cameraPath(id)}/ptz/train`, undefined, { answerMs: TRAINING_MS }),
  stopFollow: (id: string) =>
    call<Follow>(`POST ${cameraPath(id)}/ptz/follow/stop`, undefined, { answerMs: CAMERA_MS }),
}

export const talkApi = {
  messages: () => call<TalkMessage[]>('GET /api/talk/messages', undefined, { isPolled: true }),
  addFile: (name: string, file: Blob) =>
    call<TalkMessage>(`POST /api/talk/messages?name=${encodeURIComponent(name)}`, file, { answerMs: ADDING_MS }),
  addText: (body: { name: string; text: string; voice: string }) =>
    call<TalkMessage>('POST /api/talk/speech', body, { answerMs: ADDING_MS }),
  remove: (id: string) => call<unknown>(`DELETE ${messagePath(id)}`),
  probe: (camera: string) => call<unknown>(`POST ${cameraPath(camera)}/talk/probe`, undefined, { answerMs: CAMERA_MS }),
  say: (camera: string, messageId: string, repeat: number) =>
    call<{ seconds: number }>(`POST ${cameraPath(camera)}/talk`, { messageId, repeat }, { answerMs: CAMERA_MS }),
  hush: (camera: string) => call<{ spoke: boolean }>(`DELETE ${cameraPath(camera)}/talk`),
}
