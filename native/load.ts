/** Finds and loads an addon, both from a checkout's sources and from a bundle. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Loads `<name>/prebuilds/linux-<arch>/<name>.node`, beside this file or below `native/` beside the bundle that
 * contains this file (`build/gateway.mjs` finds `build/native/serial/...`).
 * @returns what the addon exports; its index.ts casts it
 * @throws Error that names the files tried, and what to run
 */
export function loadAddon(name: string): unknown {
  const file = `${name}/prebuilds/linux-${process.arch}/${name}.node`
  const places = [`./${file}`, `./native/${file}`].map((place) => fileURLToPath(new URL(place, import.meta.url)))
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new Error(`addon ${name} is not at ${places.join(' nor at ')}; run make build`)
  return createRequire(import.meta.url)(found)
}
