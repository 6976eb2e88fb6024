/** Loads the addon; only this folder uses it. Each module declares the calls it makes. */
import { loadAddon } from '../load.ts'

let loaded: unknown

/**
 * The addon, loaded on first use: it needs the libraries of GStreamer, which a board without sound need not have.
 * @returns its exports; each module casts them to its own calls
 * @throws Error of the loader that names the missing library
 */
export function addon(): unknown {
  loaded ??= loadAddon('node-gst')
  return loaded
}
