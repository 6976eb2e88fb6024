/** The addon itself; nothing outside this folder uses it. Each face knows what calls it makes. */
import { loadAddon } from '../load.ts'

let loaded: unknown

/**
 * The addon, loaded when it is first used and not before: it needs the libraries of GStreamer, which a board that makes
 * no sound need not have.
 * @returns its exports; each face casts them to its own calls
 * @throws Error of the loader that names the library that is missing
 */
export function addon(): unknown {
  loaded ??= loadAddon('node-gst')
  return loaded
}
