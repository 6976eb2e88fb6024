/**
 * Ends with 0 when node_modules holds what package-lock.json says, so that `make setup` need not install again.
 * Plain JavaScript: it runs before anything is installed, on the system's own Node (18 or newer).
 */
import { readFileSync } from 'node:fs'

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return {}
  }
}

const wanted = Object.entries(packagesOf('package-lock.json')).filter(([path]) => path !== '')
const present = packagesOf('node_modules/.package-lock.json')
const isSame = ([path, entry]) =>
  present[path] ? present[path].version === entry.version : entry.optional === true && !path.includes('/node-linux-')
const hasNode = Object.keys(present).some((path) => path === `node_modules/node-linux-${process.arch}`)

process.exitCode = wanted.length > 0 && hasNode && wanted.every((entry) => isSame(entry) || isOtherNode(entry)) ? 0 : 1

/** The pinned Node of the other processor is never installed. */
function isOtherNode([path]) {
  return path.startsWith('node_modules/node-linux-') && !path.endsWith(`-${process.arch}`)
}
