/** What this browser saw boards play, kept over reloads: a board that is gone keeps its crosspoint until it is dismissed. */
import type { FarSound } from './far-sound.ts'

/** The number grows with the shape: what an older firmware's page has written is not read. */
const KEY = 'plantroom.sound.1'

let written: string | undefined
let known: ReadonlyMap<string, FarSound> | undefined

/** Routes and streams by the keys of their boards; empty where the browser keeps nothing. */
export function rememberedSound(): ReadonlyMap<string, FarSound> {
  known ??= new Map(readAll())
  return known
}

/** Keeps what boards play; what changes each second is left out. */
export function rememberSound(sounds: ReadonlyMap<string, FarSound>): void {
  known = new Map([...sounds].map(([key, sound]) => [key, lasting(sound)]))
  const text = JSON.stringify([...known])
  if (text === written) return
  written = text
  try {
    localStorage.setItem(KEY, text)
  } catch {
    // Without room, or where its reader forbids it, the page knows what it has seen since it was opened.
  }
}

function lasting(sound: FarSound): FarSound {
  return sound.kind === 'encoder'
    ? { ...sound, rmsDb: null }
    : { ...sound, rmsDb: null, lossPercent: null, checks: [], volume: null }
}

function readAll(): [string, FarSound][] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}
